"""The application's services, without user interface or SQL."""
