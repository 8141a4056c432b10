import Sessions

/// An OSC address of a running session: what it is, how it is read, and what a message to it does.
struct RemoteControl: Sendable {
  /// Returns the present values, in the types of the node; nil if there are none any more.
  typealias Reading = @Sendable (RunningSession, SessionEngine) -> [OSCValue]?
  /// Sets a parameter or performs an action. The values fit the node. Runs on the session's thread.
  typealias Action = @Sendable (RunningSession, [OSCValue]) throws(SessionRunError) -> Void

  /// The effect of a message to the address.
  enum Act: Sendable {
    case now(Action)
    /// Sets the value of the address, if no later message that waits does.
    case edit(Action)
    /// Recalls a scene, if no later message that waits does.
    case recall(Action)
    /// Saves the session, which takes a while.
    case save
  }

  let node: RemoteNode
  let read: Reading
  let act: Act

  private static let reads: Action = { _, _ throws(SessionRunError) in
    throw .refused("it can only be read")
  }

  /// Creates an action. `path` is an address without the root.
  static func action(
    _ path: String, types: String = "", range: ClosedRange<Double>? = nil, unit: String? = nil,
    _ summary: String, _ act: @escaping Action
  ) -> RemoteControl {
    RemoteControl(
      node: RemoteNode(path, .action, types: types, range: range, unit: unit, summary: summary),
      read: { _, _ in nil }, act: .now(act))
  }

  /// Creates a state or a meter.
  static func reading(
    _ path: String, _ kind: RemoteNode.Kind = .state, types: String, unit: String? = nil,
    _ summary: String, _ read: @escaping Reading
  ) -> RemoteControl {
    RemoteControl(
      node: RemoteNode(path, kind, types: types, unit: unit, summary: summary), read: read,
      act: .now(reads))
  }

  /// Creates a parameter: a value of the document.
  ///
  /// - Parameter target: The value's path in the document.
  static func value(
    _ path: String, _ target: SessionPath, types: String, range: ClosedRange<Double>? = nil,
    unit: String? = nil, _ summary: String,
    _ read: @escaping @Sendable (SessionDocument) -> OSCValue
  ) -> RemoteControl {
    parameter(
      RemoteNode(path, .parameter, types: types, range: range, unit: unit, summary: summary), target
    ) { _, engine in
      guard let value = engine.automated(target) else { return [read(engine.document)] }
      return [types == "T" ? .bool(value >= 0.5) : .float(Float(value))]
    }
  }

  /// Creates a parameter that is kept in the document and read from elsewhere.
  static func parameter(
    _ node: RemoteNode, _ target: SessionPath, _ read: @escaping Reading
  ) -> RemoteControl {
    RemoteControl(
      node: node, read: read,
      act: .edit { session, values throws(SessionRunError) in
        guard let value = values.first else { return }
        try session.apply(.set(target, json(value)))
      })
  }

  /// Returns a message's value for the document.
  private static func json(_ value: OSCValue) -> JSONValue {
    if case .bool(let flag) = value { return .flag(flag) }
    // A float's decimal digits, not its double's.
    if case .float(let number) = value { return JSONValue(Double("\(number)") ?? Double(number)) }
    return JSONValue(value.number ?? 0)
  }
}
