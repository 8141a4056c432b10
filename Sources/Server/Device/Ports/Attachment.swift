/// A voice or a recorder that is attached to a device, with its ports.
@safe
struct Attachment {
  /// A voice is retired if its memory is kept because a cycle that does not end may read it. The device removes
  /// its ports in these two steps.
  enum Retirement {
    /// The ports are silent once the first `until` cycles are over.
    case silencing(until: UInt64)
    /// No cycle knows of a connection of the ports once the first `until` cycles are over.
    case isolating(until: UInt64)
  }

  let memory: any CycleMemory
  /// Nil for a retired voice.
  var owner: OwnerReference?
  /// None while the server is gone.
  var ports: [ClientPort]
  var portNames: [String]
  /// Prefix of the port names.
  let prefix: String
  /// The mono voice to which `ports[1]` belongs as its second port.
  var spreadVoice: VoiceMemory?
  /// Set for a retired voice.
  var retirement: Retirement?
}
