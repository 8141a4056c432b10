import ArgumentParser
import Control
import Files
import Glibc
import RealTime
import Sessions
import System
import Timeline

/// Options of `cuejack play` for the desktop.
struct MediaOptions: ParsableArguments {
  @Flag(
    name: .customLong("no-mpris"),
    help: ArgumentHelp(
      "Do not appear on the desktop's bus.",
      discussion: """
        Otherwise media keys, desktops and playerctl control the command by MPRIS, as the player cuejack. --no-remote \
        leaves that out, too.
        """))
  var noMPRIS = false

  var isWanted: Bool { !noMPRIS }
}

/// The player that the desktop shows for `cuejack play`: the sequence among its files, or all files that play together.
/// Main thread.
final class PlayMedia {
  private let keys: PlayKeys
  private let players: [FilePlayer]
  private let player: FilePlayer
  /// The names of the file with a number that was described last.
  private var described: (track: Int, names: MediaState)?

  init(_ keys: PlayKeys, _ players: [FilePlayer]) {
    self.keys = keys
    self.players = players
    player = players.first { $0.row != nil } ?? players[0]
  }

  /// Seconds of playing.
  var position: Double { keys.clock.position }

  var state: MediaState {
    var state = MediaState()
    state.status =
      switch keys.motion {
      case "playing": .playing
      case "paused": .paused
      default: .stopped
      }
    state.rate = player.clip.rate
    state.gain = keys.gain
    state.isLooping = keys.isLooping
    let file = player.file
    let rate = file.format.sampleRate * player.clip.rate
    let length = Double(player.clip.part.count) / rate
    state.begin = Double(player.clip.delay) / file.format.sampleRate
    let passed = position - state.begin
    // The present repetition of a loop.
    if player.clip.frames != Int64(player.clip.part.count), length > 0, !file.isOpenEnded {
      state.begin += max(0, passed / length).rounded(.down) * length
    }
    var sound = file
    if let row = player.row {
      let frame = Int64(held: (position - state.begin) * rate)
      state.track = row.starts.lastIndex { $0 <= frame } ?? 0
      state.begin += Double(row.starts[state.track]) / rate
      state.isSequence = true
      sound = row.sounds[state.track]
      state.length = Double(sound.frames) / file.format.sampleRate
    } else if !file.isOpenEnded {
      state.length = length * player.clip.rate
    }
    describe(sound, &state)
    return state
  }

  /// Adds the names of a sound, which are read when another one begins.
  private func describe(_ sound: any SoundSource, _ state: inout MediaState) {
    if described?.track != state.track {
      var names = MediaState()
      let paths = state.isSequence ? [sound.path] : players.map(\.file.path)
      names.title = paths.map { String(printable(fileName($0)).pathStem) }.joined(separator: ", ")
      if paths.count == 1, let reader = sound as? SoundReader ?? (sound as? SoundSlice)?.reader {
        names.path = resolvedPath(sound.path)
        let tags = (try? reader.file.tags()) ?? [:]
        if let title = tags["title"], !title.isEmpty { names.title = title }
        (names.artist, names.album) = (tags["artist"], tags["album"])
      }
      described = (state.track, names)
    }
    guard let names = described?.names else { return }
    (state.title, state.path) = (names.title, names.path)
    (state.artist, state.album) = (names.artist, names.album)
  }
}
