import ArgumentParser
import Files
import Glibc
import RealTime
import Sessions
import System

/// Opens the tracks of `cuejack play`, and reports each file that cannot be opened.
struct TrackOpening {
  /// The settings for all files.
  let settings: PlaySettings
  /// Whether all files follow each other.
  let isSequence: Bool
  /// Whether files that follow each other do so in random order.
  let isShuffled: Bool
  let raw: RawFormat?
  /// Whether a pipe may play while it arrives.
  let mayStream: Bool
  /// Path of the SoundFont for MIDI files; nil for the default.
  let soundFont: String?
  let replayGain: ReplayGainOptions

  private var hasFailed = false
  /// Playlists in playlists.
  private static let mostDepth = 8

  init(
    _ settings: PlaySettings, isSequence: Bool, isShuffled: Bool, raw: RawFormat?, mayStream: Bool,
    soundFont: String?, replayGain: ReplayGainOptions
  ) {
    self.settings = settings
    self.isSequence = isSequence
    self.isShuffled = isShuffled
    self.raw = raw
    self.mayStream = mayStream
    self.soundFont = soundFont
    self.replayGain = replayGain
  }

  /// A sound of a row.
  private struct Member {
    let entry: Playlist.Entry
    let settings: PlaySettings
    let gain: Float
  }

  /// Opens all files. Ends the command if one of them cannot be opened.
  mutating func open(_ items: [PlayItem]) throws -> [PlayTrack] {
    Self.allowManyFiles()
    var tracks: [PlayTrack] = []
    if isSequence {
      // If one file has a gain of its own, each has its gain, and the row has none.
      let isMixed = items.contains { $0.options.gain != nil }
      var members: [Member] = []
      for item in items {
        let own = settings.with(item.options)
        members += entries(of: item.path).map {
          Member(entry: $0, settings: own, gain: isMixed ? own.gain.factor : 1)
        }
      }
      var common = settings
      if isMixed { common.gain = .unity }
      tracks = row(members, common).map { [$0] } ?? []
    } else {
      for item in items {
        let own = settings.with(item.options)
        if Playlist.isPlaylist(item.path) || SoundFolder.isFolder(item.path) {
          let members = entries(of: item.path).map { Member(entry: $0, settings: own, gain: 1) }
          if let row = row(members, own) { tracks.append(row) }
        } else if streams(item, own), let track = streamed(item.path, own) {
          tracks.append(track)
        } else if let reader = reader(item.path, as: nil, location: "") {
          let sound = Self.named(reader, item.path)
          tracks.append(track(sound, own, level: level(of: reader, sound.path)))
          check(tracks[tracks.count - 1])
        }
      }
    }
    if hasFailed || tracks.isEmpty { throw ExitCode.failure }
    return tracks
  }

  /// Returns the track of a file.
  private func track(_ sound: any SoundSource, _ settings: PlaySettings, level: SoundGain)
    -> PlayTrack
  {
    var settings = settings
    settings.gain = settings.gain.scaled(by: level.factor)
    return PlayTrack(source: sound, settings: settings, level: level)
  }

  /// Lets this process open as many files as the system allows.
  private static func allowManyFiles() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 65536)
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  private mutating func fail(_ message: String) {
    Screen.shared.complain(message)
    hasFailed = true
  }

  private mutating func check(_ track: PlayTrack) {
    if track.source.frames == 0 {
      fail("\(track.source.path): there is no sound in this file")
    } else if track.part.isEmpty {
      fail("\(track.source.path): nothing is left between --start and --end")
    }
  }

  /// Returns the files that a file, folder or playlist stands for.
  private mutating func entries(of path: String, depth: Int = 0) -> [Playlist.Entry] {
    if SoundFolder.isFolder(path) {
      do throws(SoundFileError) {
        let files = try SoundFolder.files(in: path)
        if files.isEmpty { throw SoundFolder.emptyError(path) }
        let prefix = "\(path.withoutLastSlash)/"
        return files.map { Playlist.Entry(path: prefix + $0) }
      } catch {
        fail("\(error)")
        return []
      }
    }
    guard Playlist.isPlaylist(path) else { return [Playlist.Entry(path: path)] }
    do throws(PlaylistError) {
      if depth == Self.mostDepth {
        throw PlaylistError(path, "more than \(Self.mostDepth) playlists within each other")
      }
      var found: [Playlist.Entry] = []
      for entry in try Playlist(path: path).entries {
        if Playlist.isPlaylist(entry.path) || SoundFolder.isFolder(entry.path) {
          found += entries(of: entry.path, depth: depth + 1)
        } else {
          found.append(entry)
        }
        // A list that names itself would fill the memory.
        if hasFailed { break }
      }
      return found
    } catch {
      fail("\(error)")
      return []
    }
  }

  /// Opens sounds that follow each other without a gap; nil if one cannot be opened.
  private mutating func row(_ members: [Member], _ settings: PlaySettings) -> PlayTrack? {
    let members = isShuffled ? members.shuffled() : members
    guard var readers = readers(members, as: nil), let first = readers.first else { return nil }
    let levels = zip(members, readers).map { level(of: $1, $0.entry.path) }
    let isScaled = replayGain.scope != .off || members.contains { $0.gain != 1 }
    if isScaled || readers.contains(where: { $0.format != first.format }) {
      let format = PCMFormat(
        sampleRate: first.format.sampleRate, channels: readers.map(\.format.channels).max() ?? 1,
        kind: .float, bitsPerSample: 32)
      guard let converted = self.readers(members, as: format) else { return nil }
      readers = converted
    }
    var sounds: [any SoundSource] = []
    for ((member, level), reader) in zip(zip(members, levels), readers) {
      let name = Self.named(reader, member.entry.path)
      if name.frames == 0 {
        fail("\(name.path): there is no sound in this file")
        continue
      }
      let part = PlaySettings(start: member.entry.start, end: member.entry.end).part(of: name)
      let whole = SoundSlice(name, part)
      let sound = SoundSlice(
        whole, member.settings.part(of: whole), gain: member.gain, level: level)
      if sound.frames == 0 {
        let location = member.entry.location
        fail(
          location.isEmpty || whole.frames > 0
            ? "\(name.path): nothing is left between --start and --end"
            : "\(location): \(name.path) has no sound there")
        continue
      }
      sounds.append(sound)
    }
    if sounds.count < members.count { return nil }
    var own = settings
    // Each sound has its own part already.
    (own.start, own.end) = (.zero, nil)
    return PlayTrack(
      source: SoundRow(sounds), settings: own, isCut: true, levels: isScaled ? levels : [])
  }

  /// Opens the files of sounds, each once.
  private mutating func readers(_ members: [Member], as format: PCMFormat?)
    -> [any SoundSource]?
  {
    var known: [Name: (any SoundSource)?] = [:]
    var readers: [any SoundSource] = []
    for member in members {
      let path = member.entry.path
      if known[Name(path)] == nil {
        known[Name(path)] = .some(reader(path, as: format, location: member.entry.location))
      }
      if let found = known[Name(path)], let found { readers.append(found) }
    }
    return readers.count == members.count && !readers.isEmpty ? readers : nil
  }

  /// Returns true if a pipe can play while it arrives: nothing needs its end.
  private func streams(_ item: PlayItem, _ settings: PlaySettings) -> Bool {
    mayStream && PipedFile.isPipe(item.path) && !settings.loop && settings.fadeOut.isZero
  }

  /// Returns the track of a pipe that plays while it arrives; nil if it must be complete first, or cannot be
  /// read.
  private mutating func streamed(_ path: String, _ settings: PlaySettings) -> PlayTrack? {
    if let sound = try? StreamedSound(pipe: path, raw: raw?.format) {
      return track(sound, settings, level: level(of: sound, sound.path))
    }
    if (try? PipedFile.arrival(path).hasEnded) == false {
      let name = PipedFile.name(of: path)
      Screen.shared.remark("\(name): plays once it is complete: its end tells how to read it")
    }
    return nil
  }

  /// Opens a file; reports an error and returns nil if that fails.
  private mutating func reader(_ path: String, as format: PCMFormat?, location: String)
    -> (any SoundSource)?
  {
    do throws(SoundFileError) {
      if let raw, PipedFile.isPipe(path), rawInputs.insert(Name(path)).inserted {
        try RawInput.read(path, as: raw)
      }
      let sound = try openSound(path: path, soundFont: soundFont, as: format)
      // Programs that write to a pipe do not know the length when they write the header.
      if let reader = sound as? SoundReader, let warning = reader.file.warning,
        !PipedFile.isPipe(path)
      {
        Screen.shared.complain(warning)
        if let notice = reader.file.notice { Screen.shared.remark(notice) }
      }
      return sound
    } catch {
      fail(location.isEmpty ? "\(error)" : "\(location): \(error)")
      return nil
    }
  }

  /// ReplayGain of the files, by their paths.
  private var levels: [Name: SoundGain] = [:]

  /// Returns ReplayGain of a sound, as --replaygain chooses it.
  private mutating func level(of sound: any SoundSource, _ path: String) -> SoundGain {
    if let known = levels[Name(path)] { return known }
    let level = SoundGain(of: sound, path, fallback: replayGain.fallbackFactor)
    level.choose(replayGain.scope.level)
    levels[Name(path)] = level
    return level
  }

  /// Pipes that were read as samples without a header.
  private var rawInputs: Set<Name> = []

  /// Returns the sound of a file under the name that the user knows.
  private static func named(_ sound: any SoundSource, _ path: String) -> any SoundSource {
    guard PipedFile.isPipe(path), let reader = sound as? SoundReader else { return sound }
    return SoundSlice(pipe: reader)
  }
}
