"""The child process that runs llama.cpp, and the application's end of it."""
