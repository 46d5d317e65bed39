"""The application's services, without interface and without SQL."""
