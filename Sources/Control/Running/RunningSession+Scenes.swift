package import Sessions
import Synchronization
import System

/// Scenes: values that are recalled together. The session's thread.
extension RunningSession {
  /// The name of the scene that was recalled last; empty if none was.
  package var recalledScene: String { recalled.withLock { $0 } }

  /// Recalls a scene. Its values are an edit of the session, and take effect in one cycle.
  ///
  /// - Throws: `SessionRunError.refused` with the nearest names if there is no such scene; nothing has changed then.
  package func recallScene(_ name: String) throws(SessionRunError) {
    let engine = try running()
    let scenes = engine.document.scenes
    guard let found = scenes.first(where: { $0.name.isSameName(as: name) }) else {
      let reason = scenes.isEmpty ? "the session has no scenes" : "there is no scene “\(name)”"
      throw .refused(reason + NearWords.question(name, in: scenes.map(\.name)))
    }
    let scene = engine.recallable(found)
    var edits: [SessionEdit] = []
    for (text, value) in scene.values.sorted(by: { $0.key < $1.key }) {
      let path = try SessionRunError.session { () throws(SessionError) in try SessionPath(text) }
      edits.append(.set(path, value.json))
    }
    try apply(.all(edits), recalling: scene)
    recalled.withLock { $0 = scene.name }
  }

  /// Stores the present values as a scene. A scene that exists gets the present values of what it sets, a new one all
  /// gains, balances, mutes and controls of plugins that no curve moves.
  package func storeScene(_ name: String) throws(SessionRunError) {
    let engine = try running()
    let scenes = engine.document.scenes
    let path = SessionPath([.key("scenes")])
    if let index = scenes.firstIndex(where: { $0.name.isSameName(as: name) }) {
      let values = engine.presentValues(of: scenes[index])
      try apply(.set(path.appending(index: index).appending(key: "values"), values.json))
    } else {
      let scene = SessionScene(name: name, values: engine.presentValues())
      try apply(.add(path, scene.json, at: nil))
    }
  }

  /// Recalls the scene with a MIDI program, if there is one.
  func recallScene(ofProgram number: Int, _ channel: Int) throws(SessionRunError) {
    let scene = try running().document.scenes.first {
      $0.program?.isMeant(by: number, channel) == true
    }
    if let scene { try recallScene(scene.name) }
  }
}

extension RemoteControl {
  /// The addresses of scenes.
  static func scenes(_ document: SessionDocument) -> [RemoteControl] {
    let recall = RemoteControl(
      node: RemoteNode(
        "scene", .parameter, types: "s",
        summary: "the scene that was recalled last; another name recalls that one"),
      read: { session, _ in [.string(session.recalledScene)] },
      act: .recall { session, values throws(SessionRunError) in
        if case .string(let name) = values.first { try session.recallScene(name) }
      })
    return [
      recall,
      .action("scene/store", types: "s", "store the present values as a scene") {
        session, values throws(SessionRunError) in
        if case .string(let name) = values.first { try session.storeScene(name) }
      },
      .reading("scenes", types: "s", "the names of the scenes, a line each") { _, engine in
        [.string(engine.document.scenes.map(\.name).joined(separator: "\n"))]
      },
    ]
      + document.scenes.indices.flatMap { index -> [RemoteControl] in
        let name = "scenes/\(index + 1)"
        @Sendable func scene(_ document: SessionDocument) -> SessionScene? {
          document.scenes.indices.contains(index) ? document.scenes[index] : nil
        }
        return [
          .reading("\(name)/name", types: "s", "the name of scene \(index + 1)") { _, engine in
            scene(engine.document).map { [.string($0.name)] }
          },
          RemoteControl(
            node: RemoteNode(
              "\(name)/recall", .action, summary: "recall scene \(index + 1)"),
            read: { _, _ in nil },
            act: .recall { session, _ throws(SessionRunError) in
              guard let scene = scene(try session.running().document) else { return }
              try session.recallScene(scene.name)
            }),
        ]
      }
  }
}
