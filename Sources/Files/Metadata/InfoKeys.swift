/// The keys of Core Audio's info dictionaries, and libavformat's keys for the same metadata.
enum InfoKeys {
  private static let pairs: [(key: String, names: [String])] = [
    ("title", ["title"]),
    ("artist", ["artist"]),
    ("album", ["album"]),
    ("composer", ["composer"]),
    ("genre", ["genre"]),
    ("comments", ["comment", "description"]),
    ("copyright", ["copyright"]),
    ("year", ["date", "year"]),
    ("track number", ["track", "tracknumber"]),
    ("tempo", ["tbpm", "tbp", "bpm", "tmpo", "tempo"]),
    ("key signature", ["tkey", "initialkey"]),
    ("lyricist", ["lyricist", "text"]),
    ("subtitle", ["tit3", "subtitle"]),
    ("ISRC", ["tsrc", "isrc"]),
    ("encoding application", ["encoder", "encoded_by"]),
    ("recorded date", ["creation_time"]),
  ]

  /// Converts libavformat's metadata to an info dictionary. The keys of `metadata` are in lower
  /// case.
  static func tags(_ metadata: [String: String]) -> [String: String] {
    var tags: [String: String] = [:]
    for (key, names) in pairs {
      if let value = names.lazy.compactMap({ metadata[$0] }).first { tags[key] = value }
    }
    return tags
  }

  /// Metadata that describes the file or its tools rather than the sound.
  private static let technical: Set<String> = [
    "major_brand", "minor_version", "compatible_brands", "handler_name", "vendor_id", "language",
    "itunsmpb", "itunnorm", "duration", "tlen", "creation_time",
  ]

  /// Returns the part of libavformat's metadata that info dictionaries have no key for.
  static func others(_ metadata: [String: String]) -> [String: String] {
    let known = Set(pairs.flatMap(\.names)).union(technical)
    return metadata.filter { !known.contains($0.key) }
  }

  /// Keys that libavformat stores in MPEG-4 files.
  private static let inMPEG4: Set<String> = [
    "title", "artist", "album", "composer", "genre", "comments", "copyright", "year",
    "track number", "tempo",
  ]

  /// Returns true if files of packets in this container store a tag.
  static func keeps(_ key: String, in container: Container) -> Bool {
    container.isMPEG4
      ? inMPEG4.contains(key) : container.storesTags && pairs.contains { $0.key == key }
  }

  /// Replaces libavformat's keys, which it writes into CAF files, by Core Audio's keys.
  static func coreAudioTags(_ tags: [String: String]) -> [String: String] {
    var known = tags
    for (key, names) in pairs {
      for name in names where name != key {
        if let value = known.removeValue(forKey: name), known[key] == nil { known[key] = value }
      }
    }
    return known
  }

  /// Converts an info dictionary to libavformat's metadata.
  static func metadata(_ tags: [String: String], container: Container) -> [String: String] {
    var metadata: [String: String] = [:]
    for (key, names) in pairs {
      guard let value = tags[key] else { continue }
      switch key {
      case "encoding application": continue
      case "tempo" where container == .mp3 || container == .adts: metadata["TBPM"] = value
      case "tempo" where container == .flac || container == .ogg: metadata["BPM"] = value
      case "key signature" where container == .mp3 || container == .adts: metadata["TKEY"] = value
      case "ISRC" where container == .mp3 || container == .adts: metadata["TSRC"] = value
      case "subtitle" where container == .mp3 || container == .adts: metadata["TIT3"] = value
      default: metadata[names[0]] = value
      }
    }
    return metadata
  }
}
