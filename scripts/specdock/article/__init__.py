"""Article: templates print figures through bindings, and every figure leads back to its rule."""
