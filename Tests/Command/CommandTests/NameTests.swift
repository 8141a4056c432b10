import Foundation
import TestSupport
import Testing

/// Names of files that are not UTF-8, and files that the command replaces.
@Suite(.tags(.program), .serialized) struct NameTests {
  /// Runs a script in a folder with `ok.wav`. `$C` is the command, `$E` is the byte E9.
  private func script(_ lines: String, _ check: (CommandResult, URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      _ = try WaveFile("ok.wav", in: folder, coding: .s16, frames: 4410)
      let cuejack = try builtProduct(named: "cuejack").path
      let result = try run(
        "bash", ["-c", "C=$0; E=$(printf '\\351'); \(lines)", cuejack],
        environment: ["LC_ALL": "C.UTF-8"], folder: folder)
      try check(result, folder)
    }
  }

  @Test func namesThatAreNotUTF8AreReadWrittenAndShownEscaped() throws {
    let lines = """
      set -e; cp ok.wav caf$E.wav; $C info caf$E.wav | head -n 1; $C convert caf$E.wav out$E.flac
      $C info --json out$E.flac | grep '"path"'; mkdir dir$E; cp caf$E.wav dir$E
      $C convert dir$E --to flac made$E/deep; ls -b . dir$E made$E/deep
      $C info no$E.wav 2>&1 || true; cmp -s out$E.flac made$E/deep/caf$E.flac
      """
    try script(lines) { result, _ in
      expectEqual(result.status, 0, "\(result)")
      expectTrue(result.output.hasPrefix("caf\\xE9.wav\nout\\xE9.flac: FLAC"), "\(result.output)")
      expectTrue(result.output.contains(#""path" : "out\\xE9.flac""#))
      expectTrue(result.output.contains("made\\xE9/deep/caf\\xE9.flac: FLAC"))
      expectTrue(result.output.contains("cuejack: no\\xE9.wav: there is no such file"))
      let listed = result.output.split(separator: "\n").map(String.init)
      for name in [#"caf\351.wav"#, #"out\351.flac"#, #"dir\351"#, #"made\351"#, #"caf\351.flac"#] {
        expectTrue(listed.contains(name), "\(name): \(result.output)")
      }
    }
  }

  @Test func sessionsAndPlaylistsHaveNamesThatAreNotUTF8() throws {
    let lines = """
      set -e; cp ok.wav caf$E.wav; $C session new s$E caf$E.wav; $C session check s$E
      $C session collect s$E; $C session set s$E name=caf; cmp caf$E.wav s$E/audio/caf$E.wav
      $C session render s$E -o r$E.wav; ls -b
      echo caf$E.wav > list.m3u; $C play list.m3u --render a.wav
      echo file://$PWD/caf%E9.wav > list.m3u; $C play list.m3u --render b.wav; cmp a.wav b.wav
      cp ok.wav café.wav; rm caf$E.wav; echo caf$E.wav > list.m3u; $C play list.m3u --render c.wav
      cmp a.wav c.wav
      """
    try script(lines) { result, _ in
      expectEqual(result.status, 0, "\(result)")
      expectTrue(result.output.contains("caf\\xE9: ../caf\\xE9.wav"))
      expectTrue(result.output.contains("/s\\xE9/session.json"))
      expectTrue(result.output.contains(#"r\351.wav"#))
    }
  }

  @Test func theModeAndTheLinkOfAReplacedFileStay() throws {
    let lines = """
      set -e; : > a.flac; chmod 640 a.flac; ln -s a.flac link.flac; $C convert ok.wav link.flac --force
      stat -c %a a.flac; readlink link.flac; ls -A
      """
    try script(lines) { result, _ in
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(
        result.output.hasSuffix("640\na.flac\na.flac\nlink.flac\nok.wav\n"), "\(result.output)")
    }
  }

  /// A conversion that is killed leaves nothing, and the old file as it was.
  @Test func aKilledConversionLeavesNothing() throws {
    let lines = """
      sox -n -r 48000 -c 2 long.wav synth 900 sine 99; echo old > out.flac
      $C convert long.wav out.flac --force & sleep 0.5; kill -9 $!; wait $!; echo $?; ls -A; cat out.flac
      """
    try script(lines) { result, _ in
      expectEqual(result.output, "137\nlong.wav\nok.wav\nout.flac\nold\n", "\(result)")
    }
  }

  // MARK: Standard files

  @Test(arguments: ["<&- >&-", ">&-", "<&- >&- 2>&-"])
  func closedFilesAreNotTakenForTheOutput(closed: String) throws {
    let lines = """
      $C convert ok.wav out.flac \(closed); echo $?; $C convert out.flac back.wav >&2
      cmp <(tail -c 8000 ok.wav) <(tail -c 8000 back.wav) && echo same
      """
    try script(lines) { result, _ in expectEqual(result.output, "0\nsame\n", "\(result)") }
  }

  @Test(arguments: [
    "info ok.wav", "info --json ok.wav", "help", "help play", "--version", "plugins list",
    "convert ok.wav out.flac", "convert --json ok.wav out.flac", "session check s",
    "session show s",
    "--generate-completion-script bash", "play --render - ok.wav",
  ])
  func aWriteToStandardOutputThatFailsIsTold(arguments: String) throws {
    let lines = "$C session new s ok.wav >/dev/null; $C \(arguments) >/dev/full; echo $?"
    try script(lines) { result, _ in
      expectEqual(result.output, "1\n", "\(result)")
      expectTrue(result.errors.contains("standard output"), "\(result)")
    }
    try script("$C session new s ok.wav >/dev/null; $C \(arguments) | :; echo ${PIPESTATUS[0]}") {
      result, _ in
      // The reader may have been too late to close the pipe.
      expectTrue(["0\n", "1\n"].contains(result.output), "\(result)")
    }
  }

  @Test func aClosedPipeIsTold() throws {
    let lines = "{ sleep 0.3; $C help play; echo $? >&2; } | true"
    try script(lines) { result, _ in
      expectTrue(result.errors.hasSuffix("Broken pipe\n1\n"), "\(result)")
    }
  }
}
