"""The transaction coordinator: transactional ids, fencing, and the end of transactions."""
