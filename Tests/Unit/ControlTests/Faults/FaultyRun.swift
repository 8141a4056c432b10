import Control
import Foundation
import Sessions
import System
import TestSupport
import Testing

/// `cuejack session run` with plugins that misbehave, and with calls on the session's files that fail.
final class FaultyRun {
  /// What the control `mode` of a faulty plugin makes it do.
  enum Mode: Int {
    case crashesInRun = 1
    case hangsInRun, exitsInRun, printsInRun, closesFilesInRun
    case crashesInSave = 10
    case hangsInSave, exitsInSave, refusesToSave, isSlowToSave
  }

  let folder: URL
  let session: String
  let jack: JackDaemon
  private let orders: String
  private var environment: [String: String] = [:]
  private(set) var program: ManagedProgram!
  private(set) var client: RemoteClient!
  /// The address of remote control.
  private(set) var address = OSCAddress(port: 1)

  /// Makes a session with a bus for each plugin, and runs it.
  ///
  /// - Parameters:
  ///   - isolated: For each plugin, whether it has a process of its own.
  ///   - name: Name of the session's folder.
  init(
    in folder: URL, isolated: [Bool], named name: String = "s",
    change: (inout SessionDocument) -> Void = { _ in }
  ) throws {
    self.folder = folder.resolvingSymlinksInPath()
    session = self.folder.path + "/" + name
    orders = self.folder.path + "/orders"
    jack = try JackDaemon(rate: 48000, period: 1024)
    var document = SessionDocument(name: "s")
    for (index, isIsolated) in isolated.enumerated() {
      var bus = SessionBus(name: "b\(index)")
      bus.channels = 1
      bus.chain = [SessionPlugin(id: "p\(index)", uri: "urn:faulty")]
      bus.chain[0].isolate = isIsolated
      document.buses.append(bus)
    }
    change(&document)
    _ = try SessionStore(creating: session, document)
    try makeBundle()
    let library = self.folder.path + "/faults.so"
    try compile("faults", to: library)
    environment = jack.environment.merging([
      "LV2_PATH": "\(self.folder.path)/lv2:/usr/lib/lv2", "XDG_CACHE_HOME": self.folder.path,
      "XDG_RUNTIME_DIR": self.folder.path, "LD_PRELOAD": library, "FAULTS_FOLDER": session,
      "FAULTS_FILE": orders,
    ]) { $1 }
    order(nil)
    try start()
  }

  deinit { program?.child.end() }

  private func compile(_ name: String, to library: String) throws {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("\(name).c").path
    let result = try run(
      try SwiftToolchain().clang,
      ["-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-o", library, source, "-ldl"])
    if result.status != 0 { throw SupportError(result.errors) }
  }

  private func makeBundle() throws {
    let bundle = folder.path + "/lv2/faulty.lv2"
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    let text = """
      @prefix lv2: <http://lv2plug.in/ns/lv2core#> .
      @prefix doap: <http://usefulinc.com/ns/doap#> .
      @prefix state: <http://lv2plug.in/ns/ext/state#> .
      <urn:faulty> a lv2:Plugin ; lv2:binary <faulty.so> ; doap:name "Faulty" ;
        lv2:requiredFeature <http://lv2plug.in/ns/ext/urid#map> ;
        lv2:extensionData state:interface ;
        lv2:port [ a lv2:AudioPort, lv2:InputPort ; lv2:index 0 ; lv2:symbol "in" ; lv2:name "In" ] ,
          [ a lv2:AudioPort, lv2:OutputPort ; lv2:index 1 ; lv2:symbol "out" ; lv2:name "Out" ] ,
          [ a lv2:ControlPort, lv2:InputPort ; lv2:index 2 ; lv2:symbol "mode" ; lv2:name "Mode" ;
            lv2:default 0.0 ; lv2:minimum 0.0 ; lv2:maximum 20.0 ] .
      """
    try text.write(toFile: bundle + "/manifest.ttl", atomically: false, encoding: .utf8)
    try compile("faulty", to: bundle + "/faulty.so")
  }

  /// Starts the session.
  func start() throws {
    program = try ManagedProgram(
      ["session", "run", session, "--no-connect"], environment: environment,
      executable: builtProduct(named: "cuejack").path)
    let line = try program.value(after: "s: server ")
    let port = try require(line.firstMatch(of: /UDP port (\d+)/).flatMap { UInt16($0.output.1) })
    address = OSCAddress(port: port)
    client = try RemoteClient(of: address, patience: 60)
  }

  /// Kills the session, and starts it again.
  func restart() throws {
    program.child.send(signal: SIGKILL)
    _ = program.child.wait(seconds: 60)
    order(nil)
    try start()
  }

  /// Lets a call on the session's files fail: the one after `count` others, or also all later ones.
  func order(_ count: Int32?, _ error: Int32 = ENOSPC, isLasting: Bool = false) {
    let numbers = [count ?? -1, error, isLasting ? 1 : 0]
    let data = numbers.withUnsafeBytes { Data($0) }
    // The library has the file mapped.
    guard let file = fopen(orders, FileManager.default.fileExists(atPath: orders) ? "r+" : "w")
    else { return }
    _ = data.withUnsafeBytes { fwrite($0.baseAddress, 1, data.count, file) }
    fclose(file)
  }

  /// Lets a plugin misbehave. Returns when it knows: its control changes in a cycle.
  func set(_ mode: Mode?, ofPlugin number: Int) throws {
    try client.send(
      OSCMessage("/cuejack/buses/\(number + 1)/plugins/1/mode", .float(Float(mode?.rawValue ?? 0))))
    let frame = try frame()
    try wait(for: "cycles") { try self.frame() > frame + 8 * 1024 }
  }

  private func frame() throws -> Double {
    try require(try client.values(of: "/cuejack/frame").first?.arguments.first?.number)
  }

  func set(gain: Float, ofBus number: Int = 0) throws {
    try client.send(OSCMessage("/cuejack/buses/\(number + 1)/gain", .float(gain)))
  }

  /// Saves, and returns what people are told.
  @discardableResult func save() throws -> [String] { try client.send(OSCMessage("/cuejack/save")) }

  var document: SessionDocument { get throws { try SessionStore.read(session).document } }

  /// The folders of states that exist.
  var states: Set<String> { Set(names(inFolder: session + "/plugins") ?? []) }

  /// The number of a plugin's whole state, as the document names it; nil if it is not there or cut off.
  func count(ofPlugin number: Int) throws -> Int? {
    guard let state = try document.buses[number].chain[0].state else { return nil }
    let text = text(of: URL(fileURLWithPath: "\(session)/\(state)/state.ttl"))
    return text.firstMatch(of: /count-(\d+)-\.*end/).flatMap { Int($0.output.1) }
  }
}
