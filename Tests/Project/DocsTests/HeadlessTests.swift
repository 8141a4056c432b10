import Foundation
import Glibc
import TestSupport
import Testing

/// The services of docs/headless.md, as systemd runs them for a user.
@Suite(
  .tags(.server, .program),
  // A systemd of its own needs a namespace.
  .enabled(if: getuid() == 0)) struct HeadlessTests
{
  private static let page = Page("docs/headless.md")
  private static func blocks(_ language: String) -> [String] {
    page.blocks.filter { $0.language == language }.map(\.text)
  }

  /// The page's units and commands in its order. What the machine lacks is replaced: the sound card. The name of the
  /// phone is not known here.
  private static func script(_ prefix: String) throws -> String {
    let units = blocks("ini")
    let commands = blocks("sh")
    try require(units.count == 2 && commands.count == 3)
    let jackd = units[0].replacing(/-d alsa .*/, with: "-d dummy -r 48000 -p 1024")
    return """
      set -e
      installed="$HOME/.config/systemd/user"
      mkdir -p "$installed" ~/Music
      cp '\(prefix)/lib/systemd/user/cuejack-session@.service' "$installed"
      cat >"$installed/jackd.service" <<'END'
      \(jackd)
      END
      unit="cuejack-session@$(systemd-escape --path ~/Music/song).service"
      # Waits until a command prints a line.
      await() { for ((i = 0; i < 600; i++)); do "${@:2}" 2>/dev/null | grep -x "$1" && return; sleep 0.1; done; "${@:2}"; }
      cd ~/Music
      sox -n -r 48000 -b 16 -c 2 drums.wav synth 60 sine 440 vol 0.2
      cuejack session new song drums.wav
      \(commands[0])
      systemd-analyze --user verify jackd.service "$unit"
      \(commands[1])
      # From here on systemd starts the session by itself.
      cuejack() { case $* in osc*running) await ".*true" command cuejack "$@" ;; *) command cuejack "$@" ;; esac; }
      # A busy machine may lose frames, which is exit code 1.
      record() { command cuejack record "$@" --seconds 0.5 || [ $? = 1 ]; }
      record take.wav --connect song
      cuejack info --loudness take.wav
      kill -9 $(systemctl --user show -p MainPID --value "$unit")
      await NRestarts=1 systemctl --user show -p NRestarts "$unit"
      cuejack osc song running
      mkdir "$installed/$unit.d"
      cat >"$installed/$unit.d/override.conf" <<'END'
      \(units[1])
      END
      systemctl --user daemon-reload
      \(commands[2])
      cuejack osc osc.udp://127.0.0.1:9001/ running
      kill -9 $(systemctl --user show -p MainPID --value jackd.service)
      await NRestarts=1 systemctl --user show -p NRestarts jackd.service
      await song:drums_2 jack_lsp
      record again.wav --connect song --connect-wait 30
      cuejack info --loudness again.wav
      printf '[Service]\\nWatchdogSec=3\\n' >"$installed/$unit.d/watchdog.conf"
      systemctl --user daemon-reload
      systemctl --user restart "$unit"
      kill -STOP $(systemctl --user show -p MainPID --value "$unit")
      await NRestarts=1 systemctl --user show -p NRestarts "$unit"
      await WatchdogUSec=3s systemctl --user show -p WatchdogUSec "$unit"
      cuejack osc osc.udp://127.0.0.1:9001/ running
      cuejack set song quit
      await ActiveState=inactive systemctl --user show -p ActiveState "$unit"
      """
  }

  @Test func theServicesPlayAndComeBack() throws {
    let prefix = try ProgramBuilds.shared.get().installation.path
    try withTemporaryFolder { folder in
      let server = "headless-\(getpid())"
      let result = try run(
        "Tests/Tools/Gates/with-systemd", ["bash", "-c", Self.script(prefix)],
        environment: [
          // Sessions are looked for in TMPDIR, too, and other tests have some of the same name.
          "HOME": folder.path, "TMPDIR": folder.path, "JACK_DEFAULT_SERVER": server,
          "JACK_NO_START_SERVER": "1",
          "PATH": "\(prefix)/bin:\(ProcessInfo.processInfo.environment["PATH"] ?? "")",
        ], folder: repository)
      expectEqual(result.status, 0, "\(result)")
      expectEqual(result.output.matches(of: /\/cuejack\/running true/).count, 4, "\(result)")
      // Both recordings have the sine of 0.2.
      let peaks = result.output.matches(of: /sample peak (-?[\d.]+)/).map { $0.output.1 }
      expectEqual(peaks, ["-14.0", "-14.0"], "\(result)")
    }
  }
}
