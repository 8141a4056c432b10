import CRealTime

/// A weak reference to the owner of a voice or a recorder. It is an object, because copies of a struct with a weak
/// reference take longer than copies of one that refers to this object.
final class OwnerReference: Sendable {
  weak let object: (any VoiceOwner)?
  init(_ object: any VoiceOwner) { self.object = object }
}
