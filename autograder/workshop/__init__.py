"""What the finished model is for: data, training it whole, translating. Steps know none of this."""
