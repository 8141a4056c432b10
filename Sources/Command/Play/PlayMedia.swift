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

/// What the desktop shows of `cuejack play`: the sequence among its files, or all files that play together. Main thread.
final class PlayMedia {
  private let keys: PlayKeys
  private let players: [FilePlayer]
  private let player: FilePlayer
  /// The tags of the file with a number that was read last.
  private var tags: (track: Int, tags: [String: String])?

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
    state.canSetRate = keys.speed != nil
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

  /// Adds the names of a sound.
  private func describe(_ sound: any SoundSource, _ state: inout MediaState) {
    let names = state.isSequence ? [sound.path] : players.map(\.file.path)
    state.title = names.map { String(printable(fileName($0)).pathStem) }.joined(separator: ", ")
    guard let reader = sound as? SoundReader ?? (sound as? SoundSlice)?.reader else { return }
    state.path = resolvedPath(sound.path)
    if players.count > 1, !state.isSequence { return }
    if tags?.track != state.track {
      tags = (state.track, (try? reader.file.tags()) ?? [:])
    }
    let texts = tags?.tags ?? [:]
    if let title = texts["title"], !title.isEmpty { state.title = title }
    state.artist = texts["artist"]
    state.album = texts["album"]
  }
}
