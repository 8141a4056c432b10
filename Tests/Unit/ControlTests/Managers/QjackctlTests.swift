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
    if: proof != nil
      && ["qjackctl", "Xvfb", "xdotool", "dbus-run-session"].allSatisfy { findProgram($0) != nil },
    "needs CUEJACK_PROOF, qjackctl, xvfb and xdotool"))
struct QjackctlTests {
  /// qjackctl listens for signals on the system's bus, which is a private one here: `session` shows its
  /// session window, and `save` asks for a folder.
  private static let script = """
    export DBUS_SYSTEM_BUS_ADDRESS=$DBUS_SESSION_BUS_ADDRESS
    qjackctl & qjackctl=$!
    xdotool search --sync --onlyvisible --name 'JACK Audio Connection Kit' >/dev/null
    for try in 1 2 3 4 5 6 7 8 9 10; do
      dbus-send --system --type=signal / org.rncbc.qjackctl.session
      sleep 1
      if xdotool search --onlyvisible --name '^Session' >/dev/null; then break; fi
    done
    dbus-send --system --type=signal / org.rncbc.qjackctl.save
    xdotool search --sync --onlyvisible --name '^Save Session' >/dev/null
    sleep 1
    xdotool type --delay 30 "$1"
    sleep 1
    xdotool key Return
    for try in $(seq 1 60); do
      if [ -e "$1/session.xml" ]; then break; fi
      sleep 0.5
    done
    kill $qjackctl
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

  @Test func itsSessionWindowSavesWhatJackSessionNotifySaves() throws {
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
      let (first, second) = (folder.path + "/tool", folder.path + "/window")
      let home = folder.path + "/home"
      for made in [first, second, home + "/.config/rncbc.org"] {
        try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
      }
      try Self.settings.write(
        toFile: home + "/.config/rncbc.org/QjackCtl.conf", atomically: true, encoding: .utf8)
      let environment = jack.environment.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 }
      let program = try ManagedProgram(
        ["session", "run", path, "--no-connect"], environment: environment,
        executable: builtProduct(named: "cuejack").path)
      _ = try program.value(after: "song: server ")
      let tool = try run("jack_session_notify", ["save", first], environment: environment)
      #expect(tool.status == 0, "\(tool)")

      let display = ":\(100 + getpid() % 1000)"
      let screen = try Child(
        "Xvfb", [display, "-screen", "0", "1280x900x24"],
        output: folder.appendingPathComponent("screen"))
      defer { screen.end() }
      try wait(for: "the screen") {
        FileManager.default.fileExists(atPath: "/tmp/.X11-unix/X\(display.dropFirst())")
      }
      let window = try run(
        "dbus-run-session", ["--", "bash", "-c", Self.script, "save", second],
        environment: environment.merging([
          "DISPLAY": display, "HOME": home, "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8",
        ]) { $1 }, timeout: 180)
      let list = try #require(
        try? String(contentsOfFile: second + "/session.xml", encoding: .utf8), "\(window)")
      #expect(
        list.contains("cuejack session run &quot;${SESSION_DIR}session&quot;")
          || list.contains("cuejack session run \"${SESSION_DIR}session\""), "\(list)")
      func saved(_ root: String) throws -> SessionDocument {
        try SessionStore.read(root + "/song-session/session").document
      }
      #expect(try saved(second) == saved(first))
      let state = try #require(try saved(second).plugins[0].plugin.state)
      #expect(
        FileManager.default.fileExists(atPath: "\(second)/song-session/session/\(state)"),
        "\(state)")
    }
  }
}
