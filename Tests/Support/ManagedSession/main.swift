import Control
import Foundation
import Server
import Synchronization
import System

// A program under session managers and remote control: a session whose content is one number. Tests read
// what it prints.

/// The words of the command line.
struct Options {
  private let words = CommandLine.arguments.dropFirst()
  func has(_ name: String) -> Bool { words.contains(name) }
  func value(_ name: String) -> String? {
    guard let index = words.firstIndex(of: name), index + 1 < words.endIndex else { return nil }
    return words[index + 1]
  }
  func number(_ name: String) -> Double { value(name).flatMap(Double.init) ?? 0 }
}
let options = Options()

func say(_ line: String) {
  print(line)
  fflush(nil)
}

/// What the main thread waits for.
let ends = DispatchSemaphore(value: 0)

/// A session whose content is a number in a file.
final class NumberSession: JackManagedSession {
  struct Content {
    var project: ManagedProject?
    var number = 0
    var isDirty = false
    var isShown = false
    var client: (any ServerClient)?
  }
  let content = Mutex(Content())

  func open(_ project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {
    try load(project, report, "open")
  }

  func `switch`(to project: ManagedProject, _ report: ManagerReport) throws(ManagerError) {
    content.withLock { content in
      _ = content.client?.close()
      content.client = nil
      content.project = nil
    }
    try load(project, report, "switch")
  }

  private func load(_ project: ManagedProject, _ report: ManagerReport, _ verb: String)
    throws(ManagerError)
  {
    say("\(verb) begins")
    report.message("opening \(project.displayName)", priority: 1)
    report.progress(0.5)
    usleep(UInt32(options.number("--slow") * 1e6))
    if options.has("--fail-open") { throw ManagerError(.badProject, "\(project.path): damaged") }
    let file = project.path + ".txt"
    let text = try? String(contentsOfFile: file, encoding: .utf8)
    if let text, Int(text) == nil { throw ManagerError(.badProject, "\(file): no number") }
    let number = text.flatMap { Int($0) } ?? 0
    var client: (any ServerClient)?
    if let server = options.value("--jack") {
      do throws(ServerError) {
        client = try JackServer(named: server).openClient(named: project.clientID)
      } catch {
        throw ManagerError(.general, "\(error)")
      }
    }
    let opened = client
    content.withLock { content in
      content.project = project
      content.number = number
      content.isDirty = false
      content.client = opened
    }
    report.progress(1)
    say("\(verb) \(text == nil ? "new" : "existing") \(number) \(project.clientID)")
  }

  func save(_ report: ManagerReport) throws(ManagerError) {
    say("save begins")
    usleep(UInt32(options.number("--slow") * 1e6))
    if options.has("--fail-save") { throw ManagerError(.general, "the disk is full") }
    let (path, number) = content.withLock { ($0.project?.path ?? "", $0.number) }
    do {
      try "\(number)".write(toFile: path + ".txt", atomically: true, encoding: .utf8)
    } catch {
      throw ManagerError(.general, "\(path).txt: \(error)")
    }
    content.withLock { $0.isDirty = false }
    say("saved \(number)")
  }

  func quit() {
    say("quit")
    ends.signal()
  }

  var isDirty: Bool { content.withLock { $0.isDirty } }
  var canSwitch: Bool { !options.has("--no-switch") }
  var isWindowShown: Bool? { options.has("--window") ? content.withLock { $0.isShown } : nil }
  func setWindow(shown: Bool) {
    content.withLock { $0.isShown = shown }
    say("window \(shown)")
  }
  func sessionIsLoaded() { say("loaded") }

  func saveCopy(in folder: String, isTemplate: Bool) throws(ManagerError) {
    say("copy begins")
    usleep(UInt32(options.number("--slow") * 1e6))
    if options.has("--fail-save") { throw ManagerError(.general, "the disk is full") }
    let number = content.withLock { $0.number }
    do {
      try "\(isTemplate ? 0 : number)".write(
        toFile: folder + "number.txt", atomically: true, encoding: .utf8)
    } catch {
      throw ManagerError(.general, "\(folder)number.txt: \(error)")
    }
    say("copy \(isTemplate ? "template" : "whole") \(number)")
  }

  func restoreCommand(folder: String, clientID: String) -> [String] {
    [
      CommandLine.arguments[0], "--jack-session", options.value("--jack-session") ?? "", "--file",
      folder + "number.txt", "--session-id", clientID,
    ] + (options.value("--more").map { ["--more", $0] } ?? [])
  }
}

/// The number, and a few things that only remote control knows.
final class NumberTarget: RemoteTarget {
  private let session: NumberSession
  private let gain = Atomic<UInt32>(Float(0).bitPattern)
  private let isMuted = Atomic<Bool>(false)
  private let title = Mutex("take")
  init(_ session: NumberSession) { self.session = session }

  let remoteVersion = 1
  var remoteNodes: [RemoteNode] {
    [
      RemoteNode("start", .action, summary: "starts the number"),
      RemoteNode("stop", .action, summary: "ends the program"),
      RemoteNode(
        "locate", .action, types: "d", range: 0...3600, unit: "s", summary: "sets the position"),
      RemoteNode("number", .parameter, types: "i", summary: "the number"),
      RemoteNode(
        "tracks/1/gain", .parameter, types: "f", range: -90...12, unit: "dB", summary: "volume"),
      RemoteNode("tracks/1/mute", .parameter, types: "T", summary: "silence"),
      RemoteNode("title", .parameter, types: "s", summary: "the title"),
      RemoteNode("load", .state, types: "f", unit: "%", summary: "processor load"),
      RemoteNode("tracks/1/peak", .meter, types: "ff", unit: "dB", summary: "peaks"),
    ]
  }
  func remoteValues(at address: String) -> [OSCValue]? {
    switch address {
    case "/cuejack/number": [.int(Int32(session.content.withLock { $0.number }))]
    case "/cuejack/tracks/1/gain": [.float(Float(bitPattern: gain.load(ordering: .relaxed)))]
    case "/cuejack/tracks/1/mute": [.bool(isMuted.load(ordering: .relaxed))]
    case "/cuejack/title": [.string(title.withLock { $0 })]
    case "/cuejack/load": [.float(12.5)]
    case "/cuejack/tracks/1/peak": [.float(-6), .float(-12)]
    default: nil
    }
  }
  func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError) -> RemoteWork? {
    switch (address, values[0]) {
    case ("/cuejack/number", .int(let value)):
      session.content.withLock { content in
        content.number = Int(value)
        content.isDirty = true
      }
      manager?.dirtinessChanged()
    case (_, .float(let value)): gain.store(value.bitPattern, ordering: .relaxed)
    case (_, .bool(let value)): isMuted.store(value, ordering: .relaxed)
    case (_, .string(let text)): title.withLock { $0 = text }
    default: throw .refused(address, "unknown")
    }
    say("set \(address) \(values.map(\.description).joined(separator: " "))")
    return nil
  }
  func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError) -> RemoteWork? {
    say("perform \(address) \(arguments.map(\.description).joined(separator: " "))")
    if address == "/cuejack/stop" { ends.signal() }
    return nil
  }
}

let session = NumberSession()
nonisolated(unsafe) var manager: NSMClient?

if let file = options.value("--file"),
  let number = (try? String(contentsOfFile: file, encoding: .utf8)).flatMap({ Int($0) })
{
  session.content.withLock { $0.number = number }
  say("restored \(number)")
} else {
  session.content.withLock { $0.number = Int(options.number("--number")) }
}

// Both signals are taken before another thread starts.
var stops = sigset_t()
sigemptyset(&stops)
sigaddset(&stops, SIGTERM)
pthread_sigmask(SIG_BLOCK, &stops, nil)
let taken = stops
_ = SaveSignal {
  do throws(ManagerError) {
    try session.save(ManagerReport())
  } catch {
    say("\(error)")
  }
}
startThread(named: "signals") {
  var set = taken
  var number: CInt = 0
  _ = sigwait(&set, &number)
  say("terminated")
  ends.signal()
}

Log.set(level: .info) { level, text in say("log \(level): \(text)") }

var remote: RemoteService?
let target = NumberTarget(session)
if let name = options.value("--remote") {
  remote = RemoteService(
    target,
    RemoteReport.Origin(.session, client: name, server: "none", path: "/nowhere"), port: 0,
    reach: .loopback, onMessage: say)
  say("remote \(remote?.port ?? 0)")
}

var jackSession: JackSession?
if let name = options.value("--jack-session") {
  let opened = try JackSession(
    session, named: "number", on: JackServer(named: name == "default" ? nil : name),
    sessionID: options.value("--session-id"), patience: options.has("--impatient") ? 0.2 : 10)
  say("client \(opened.name) \(opened.isSupported ? "supported" : "unsupported")")
  jackSession = opened
}

if let url = NSMClient.environmentURL {
  do throws(OSCError) {
    let client = try NSMClient(session, name: options.value("--name") ?? "number", url: url) {
      say("state \($0)")
    }
    manager = client
    let isManaged = client.announce(patience: options.has("--impatient") ? 0.2 : 20)
    say(isManaged ? "managed by \(client.managerName)" : "unmanaged")
    if options.has("--twice") { say("again \(client.announce())") }
  } catch {
    say("unmanaged: \(error)")
  }
}

ends.wait()
manager?.end()
jackSession?.end()
remote?.end()
_ = session.content.withLock { $0.client?.close() }
say("ended")
exit(0)
