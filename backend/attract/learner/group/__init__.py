"""Several learners that train one policy: each update together (cells), or averaged once in a while."""
