"""What is not there when it is needed; apart from what asks for it and takes long to load."""


class RegistryUnavailable(Exception):
    """The registry cannot be opened, or is lost; the message says what brings it back."""


class KafkaUnavailable(Exception):
    """No Kafka answers at the address, or it refuses a topic."""
