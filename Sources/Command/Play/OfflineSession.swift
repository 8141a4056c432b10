import ArgumentParser
import AudioQueue
import Files
import Glibc
import RealTime
import Sessions
import System

/// `cuejack play --render`: the files, rendered to a file without a server.
struct OfflineSession {
  private let command: Play
  private let tracks: [PlayTrack]
  private let path: String
  private let rendering: Rendering

  /// Creates the file `path`, under a temporary name until it is complete.
  init(_ command: Play, _ tracks: [PlayTrack], to path: String) throws {
    self.command = command
    self.tracks = tracks
    self.path = path
    let files = tracks.map(\.source)
    do {
      let form = try Rendering.Form(path, of: files, command.rendering)
      let effects =
        try command.usesGraph
        ? Self.makeEffects(command, files, sampleRate: form.mix.sampleRate) : nil
      rendering = try Rendering(path, form, through: effects, isReplacing: command.rendering.force)
    } catch let error as SoundFileError {
      Screen.shared.complain("\(error)")
      if !command.rendering.force, unsafe access(path.systemName, F_OK) == 0 {
        Screen.shared.remark("--force replaces it")
      }
      OutputTarget.adviseKind(error, path, command.rendering.to)
      throw ExitCode.failure
    }
  }

  private static func makeEffects(
    _ command: Play, _ files: [any SoundSource], sampleRate: Double
  ) throws -> Effects {
    try Effects(
      ChosenPlugins(command.chosenPlugins, threads: command.threads),
      channels: files.map(\.format.channels).max() ?? 1,
      sampleRate: sampleRate, tail: Int((command.tail ?? .zero).frames(at: sampleRate)),
      delay: Int((command.output.delay ?? .zero).frames(at: sampleRate)),
      playing: command.midi.map { try MIDISong($0, sampleRate: sampleRate) },
      command.controllers.map)
  }

  /// Renders the file and prints the result. Throws the exit code if it is not 0.
  func run(_ signals: StopSignals) throws {
    let report = RenderReport(
      path, channels: rendering.channels, sampleRate: rendering.format.sampleRate,
      measuresLoudness: command.report.loudness)
    report.start(tracks.map(\.source))
    do {
      try render(report, signals)
    } catch let code as ExitCode {
      report.finish(exitCode: code.rawValue)
      throw code
    }
    report.finish(exitCode: 0)
  }

  private func render(_ report: RenderReport, _ signals: StopSignals) throws {
    var players: [FilePlayer] = []
    defer { for player in players { player.close() } }
    for (i, track) in tracks.enumerated() {
      if let signal = signals.received { throw ExitCode(128 + signal) }
      let player = try command.makePlayer(i, track, connections: .none, onEnd: {})
      players.append(player)
      let isPrimed = try command.telling(track.source) { () throws(QueueError) in
        try player.queue.setOfflineFormat(rendering.format)
        return try player.prime()
      }
      guard isPrimed else { throw ExitCode.failure }
    }
    let result: Rendering.Result?
    do {
      for player in players { try player.queue.start() }
      result = try rendering.run(players, to: report) { signals.received != nil }
    } catch {
      Screen.shared.complain("\(error)")
      throw ExitCode.failure
    }
    guard let result else { throw ExitCode(128 + (signals.received ?? 0)) }
    let name = PipeStore.name(of: path)
    Screen.shared.say("\(name): wrote \(result.frames) frames\(result.faults.words)\(report.words)")
    if rendering.lostMessages > 0 {
      Screen.shared.complain(
        "\(command.midi ?? ""): \(rendering.lostMessages) messages came at once with too many others and were lost"
      )
    }
    for fault in players.flatMap(\.file.faults) { Screen.shared.complain(fault) }
    let failed =
      rendering.lostMessages > 0 || players.contains { !$0.faults.isEmpty }
    if failed || rendering.hasLostPlugins { throw ExitCode.failure }
  }
}
