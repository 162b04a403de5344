"""What is carried out: a request in, a result out. Nothing here prints, or knows a command line."""
