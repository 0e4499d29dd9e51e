"""The system kuka-kr5: its model, how it is assembled and moved, and its study."""
