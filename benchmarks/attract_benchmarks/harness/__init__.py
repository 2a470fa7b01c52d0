"""Parts that every measurement needs: children, pages, sockets, figures and their table."""
