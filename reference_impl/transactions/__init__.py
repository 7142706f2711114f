"""The transaction coordinator: transactional ids, producer epochs, EndTxn and markers."""
