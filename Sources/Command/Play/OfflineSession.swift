import ArgumentParser
import AudioQueue
import Files
import Glibc
import RealTime
import Sessions

/// `cuejack play --render`: the files, rendered to a file without a server.
struct OfflineSession {
  private let command: Play
  private let files: [SoundReader]
  private let path: String
  private let rendering: Rendering

  /// Creates the file `path`, under a temporary name until it is complete.
  init(_ command: Play, _ files: [SoundReader], to path: String) throws {
    self.command = command
    self.files = files
    self.path = path
    let effects = try command.plugins.isEmpty ? nil : Self.makeEffects(command, files)
    do throws(SoundFileError) {
      rendering = try Rendering(path, of: files, through: effects, isReplacing: command.force)
    } catch {
      Screen.shared.complain("\(error)")
      if !command.force, unsafe access(path, F_OK) == 0 {
        Screen.shared.remark("--force replaces it")
      }
      throw ExitCode.failure
    }
  }

  private static func makeEffects(_ command: Play, _ files: [SoundReader]) throws -> Effects {
    let rate = files[0].format.sampleRate
    return try Effects(
      command.chosenPlugins, channels: files.map(\.format.channels).max() ?? 1, sampleRate: rate,
      tail: Int((command.tail * rate).rounded()))
  }

  /// Renders the file and prints the result. Throws the exit code if it is not 0.
  func run(_ signals: StopSignals) throws {
    var players: [FilePlayer] = []
    defer { for player in players { player.close() } }
    for (i, file) in files.enumerated() {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      let player = try command.makePlayer(i, file, inputs: nil, onEnd: {})
      players.append(player)
      let isPrimed = try command.telling(file) { () throws(QueueError) in
        try player.queue.setOfflineFormat(rendering.format)
        return try player.prime()
      }
      guard isPrimed else { throw ExitCode.failure }
    }
    let result: Rendering.Result?
    do {
      for player in players { try player.queue.start() }
      result = try rendering.run(players) { signals.received != nil }
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    guard let result else { throw ExitCode(128 + (signals.received ?? 0)) }
    let clipped = result.clipped > 0 ? "; clipped samples: \(result.clipped)" : ""
    Screen.shared.say("\(path): wrote \(result.frames) frames\(clipped)")
    let failed = players.contains {
      $0.hasFailed || $0.file.isTruncated && $0.playsToTheEnd
    }
    if failed || rendering.hasLostPlugins { throw ExitCode.failure }
  }
}
