"""The transaction coordinator: it manages transactional ids and producer epochs, handles EndTxn,
and sends transaction markers.
"""
