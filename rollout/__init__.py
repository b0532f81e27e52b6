"""How behaviour is produced: generators that turn prompts into completions."""
