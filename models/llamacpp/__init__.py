"""llama.cpp through the C functions that llama-cpp-python binds; only worker processes load the library."""
