import Foundation
import Server
import Sessions
import System
import TestSupport
import Testing

/// qjackctl's session window, under Xvfb, as the session manager of `cuejack session run`.
@Suite(
  .tags(.server, .program), .serialized,
  .enabled(
    if: ["qjackctl", "Xvfb", "xdotool", "dbus-run-session"].allSatisfy { findProgram($0) != nil },
    "needs qjackctl, xvfb and xdotool"))
struct QjackctlTests {
  /// qjackctl listens for signals on the system's bus, which is a private one here: `session` shows its
  /// session window; `save`, `savequit` and `load` ask for a folder. The script's words are signals and
  /// folders. Between two of them it waits for a line of a file descriptor, the first word. A busy machine may give a window the keyboard
  /// late: then the folder is typed again.
  private static let script = """
    steps=$1
    shift
    export DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS
    qjackctl >&2 & qjackctl=$!
    signal() { dbus-send --system --type=signal / org.rncbc.qjackctl.$1; }
    xdotool search --sync --onlyvisible --name 'JACK Audio Connection Kit' >/dev/null
    for try in 1 2 3 4 5 6 7 8 9 10; do
      signal session
      sleep 1
      if xdotool search --onlyvisible --name '^Session' >/dev/null; then break; fi
    done
    while [ $# -gt 0 ] && read -r line <&$steps; do
      signal "$1"
      xdotool search --sync --onlyvisible --name '^(Save|Load)' >/dev/null
      for try in 1 2 3 4 5 6 7 8 9 10; do
        sleep 1
        xdotool key ctrl+a type --delay 30 "$2"
        sleep 1
        xdotool key Return
        sleep 1
        xdotool search --onlyvisible --name '^(Save|Load)' >/dev/null || break
      done
      shift 2
    done
    read -r line <&$steps
    kill -9 $qjackctl
    """

  /// Options with which qjackctl starts no server and asks no questions.
  private static let settings = """
    [Options]
    ServerConfig=false
    StartJack=false
    QueryClose=false
    QueryDisconnect=false
    SystemTray=false
    DBusEnabled=true
    JackDBusEnabled=false
    AlsaSeqEnabled=false

    """

  /// The second folder has a space in its path, at which qjackctl splits the command.
  @Test func itsSessionWindowSavesQuitsAndLoads() throws {
    try withTemporaryFolder { folder in
      let jack = try JackDaemon(rate: 48000, period: 1024)
      let sound = try WaveFile("a.wav", in: folder, frames: 4800)
      var document = SessionDocument(name: "song")
      document.tracks = [SessionTrack(name: "a", files: [sound.path])]
      document.tracks[0].chain = [
        SessionPlugin(id: "amp", uri: "http://lv2plug.in/plugins/eg-amp")
      ]
      let path = folder.path + "/song"
      _ = try SessionStore(creating: path, document)
      let (tool, first, second) = (
        folder.path + "/tool", folder.path + "/window", folder.path + "/second window"
      )
      let home = folder.path + "/home"
      for made in [tool, first, second, home + "/.config/rncbc.org"] {
        try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
      }
      try Self.settings.write(
        toFile: home + "/.config/rncbc.org/QjackCtl.conf", atomically: true, encoding: .utf8)
      var environment = jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 }
      let program = try ManagedProgram(
        ["session", "run", path, "--no-connect"], environment: environment,
        executable: builtProduct(named: "cuejack").path)
      _ = try program.value(after: "song: server ")
      let notify = try run("jack_session_notify", ["save", tool], environment: environment)
      expectEqual(notify.status, 0, "\(notify)")

      let display = ":\(100 + getpid() % 1000)"
      let screen = try Child(
        "Xvfb", [display, "-screen", "0", "1280x900x24"],
        output: folder.appendingPathComponent("screen"))
      try wait(for: "the screen") {
        FileManager.default.fileExists(atPath: "/tmp/.X11-unix/X\(display.dropFirst())")
      }
      environment.merge([
        "DISPLAY": display, "HOME": home, "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8",
        "PATH": "\(builtProducts.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
      ]) { $1 }
      let words = ["save", first, "savequit", second, "load", first, "load", second]
      let steps = Pipe()
      let descriptor = steps.fileHandleForReading.fileDescriptor
      let window = try Child(
        "dbus-run-session", ["--", "bash", "-c", Self.script, "windows", "\(descriptor)"] + words,
        environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
        output: folder.appendingPathComponent("windows"), kept: descriptor)
      // Without the screen, the script ends wherever it is.
      defer {
        steps.fileHandleForWriting.closeFile()
        screen.end()
        _ = window.wait(seconds: 20)
      }
      func step() { steps.fileHandleForWriting.write(Data("\n".utf8)) }
      func saved(_ root: String) throws -> SessionDocument {
        try SessionStore.read(root + "/song-session/session").document
      }
      func list(_ root: String) -> String? {
        try? String(contentsOfFile: root + "/session.xml", encoding: .utf8)
      }
      step()
      try wait(for: "the save") { list(first)?.contains("</session>") == true }
      expectEqual(
        list(first)?.contains(">cuejack session run ${SESSION_DIR}session --no-connect"), true)
      expectNil(program.child.wait(seconds: 0))
      step()
      expectEqual(program.child.wait(seconds: 120), 0, "\(program.lines)")
      try wait(for: "the second save") {
        list(second)?.contains("</session>") == true
      }
      for root in [first, second] {
        try expectEqual(saved(root), saved(tool))
        let state = try require(try saved(root).plugins[0].plugin.state)
        expectTrue(
          FileManager.default.fileExists(atPath: "\(root)/song-session/session/\(state)"),
          "\(state)")
        step()
        try wait(for: "the session") { jack.hasClient(named: "song-session") }
        let quit = try run(
          builtProduct(named: "cuejack").path, ["set", "song", "quit"], environment: environment)
        expectEqual(quit.status, 0, "\(root): \(quit)")
        try wait(for: "the end of the session") { !jack.hasClient(named: "song-session") }
      }
    }
  }
}
