"""llama.cpp, through the C functions that llama-cpp-python binds. Imported by the worker process only."""
