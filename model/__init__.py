"""The model: a spec language, the specs of Kafka, their versions and bugs, the vocabulary,
histories.
"""
