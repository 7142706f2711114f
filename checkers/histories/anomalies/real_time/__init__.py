"""What nobody may be told less of than was known before."""
