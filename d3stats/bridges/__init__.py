"""How do debate logs and stopping rules meet other tools? One module or package per tool, each with its own extra."""
