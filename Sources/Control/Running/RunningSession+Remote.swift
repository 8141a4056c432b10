import Server
package import Sessions
import Synchronization
import Timeline

/// Remote control of a running session: the addresses of `RemoteControl`.
extension RunningSession: RemoteTarget {
  package var remoteVersion: Int { version.load(ordering: .relaxed) }

  package var remoteNodes: [RemoteNode] { table.nodes }

  /// The address space, made anew for each session that is opened.
  private var table: RemoteTable {
    let (version, engine) = (remoteVersion, engine)
    return remoteTable.withLock { table in
      if table.version != version { table = RemoteTable(version: version, of: engine) }
      return table
    }
  }

  package func remoteValues(at address: String) -> [OSCValue]? {
    guard let engine, let control = table[address] else { return nil }
    return control.read(self, engine)
  }

  package func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError)
    -> RemoteWork?
  { try act(address, values) }

  package func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError)
    -> RemoteWork?
  { try act(address, arguments) }

  private func act(_ address: String, _ values: [OSCValue]) throws(RemoteError) -> RemoteWork {
    guard let control = table[address] else {
      throw .refused(address, "there is no such address")
    }
    let work = RemoteWork()
    let end = { @Sendable (outcome: Result<[String], SessionRunError>) in
      work.end(outcome.mapError { .refused(address, "\($0)") })
    }
    let action: RemoteControl.Action
    var subject: SessionWork.Subject?
    switch control.act {
    case .now(let act): action = act
    case .edit(let act): (action, subject) = (act, .value(address))
    case .recall(let act):
      (action, subject) = (act, .scene("\(address) \(values.first?.text ?? "")"))
    case .save:
      save(then: end)
      return work
    }
    begin(setting: subject) { session throws(SessionRunError) in
      try action(session, values)
    } then: { outcome in
      end(outcome.map { [] })
    }
    return work
  }

  // MARK: What only messages ask

  /// Starts everything that waits for no event of its own on a frame of JACK's frame time: below 2³² the value
  /// of the 32-bit counter that is nearest to now.
  func start(atFrame number: Int64) throws(SessionRunError) {
    let engine = try running()
    if engine.usesTransport { throw .refused("JACK's transport starts the session") }
    let device = engine.device
    let frame = device.frame(numbered: number)
    if frame <= device.now + Int64(engine.session.latencyFrames) {
      throw .refused("the frame \(number) has passed")
    }
    try engine.start(engine.manualGroups, at: frame)
  }

  /// Arms or disarms all recordings, for the next start.
  package func arm(_ isArmed: Bool) throws(SessionRunError) {
    try setArmed(Array(try running().document.recordings.indices), isArmed)
  }

  /// Arms or disarms recordings. That is no edit: the document says how the session comes up.
  func setArmed(_ recordings: [Int], _ isArmed: Bool) throws(SessionRunError) {
    let engine = try running()
    var document = engine.document
    for index in recordings { document.recordings[index].armed = isArmed }
    try engine.adopt(document)
    if isArmed { try engine.checkRecordings() }
  }
}
