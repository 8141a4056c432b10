/// A sound file, or several in a row without gaps, that the session plays.
package struct SessionTrack: SessionRecord {
  package var name = ""
  /// Paths, relative to the session's folder or absolute. They play one after another.
  package var files: [String] = []
  /// Path of the SoundFont for MIDI files, relative to the session's folder or absolute; nil for the default.
  package var soundFont: String?
  /// Gain in dB.
  package var volume = 0.0
  package var mute = false
  package var solo = false
  /// Speed at the same pitch, as a factor.
  package var rate = 1.0
  /// Pitch shift at the same speed, in cents.
  package var pitch = 0.0
  /// Balance from -1, left, to 1, right.
  package var pan = 0.0
  /// Durations in seconds.
  package var fadeIn = 0.0
  package var fadeOut = 0.0
  /// The part of the sound that plays, in seconds from the beginning of the first file; nil for the
  /// end of the last file.
  package var trimStart = 0.0
  package var trimEnd: Double?
  package var loop = false
  /// Position of the first frame on the session's timeline.
  package var start = SessionStart.frame(0)
  package var chain: [SessionPlugin] = []
  /// Milliseconds by which the sound is late at the track's ports, or at the bus that receives it.
  package var delay = 0.0
  /// Name of the bus that receives the track; nil if it has JACK ports of its own.
  package var bus: String?
  /// JACK ports that the track's own ports are connected to, in order: none if the list is empty, those of the
  /// sound card without one.
  package var ports: [String]?

  package init() {}

  package init(name: String, files: [String]) {
    self.name = name
    self.files = files
  }

  package static let fields: [Field<Self>] = [
    Field("name", \.name, .text(.name), "Name, unique among the tracks.", isRequired: true),
    Field(
      "file", \.files, .texts(.path, upTo: 4096),
      "Path of the sound or MIDI file, or a list of paths of files that play in a row without a gap.",
      isRequired: true, synonyms: ["files", "path"]),
    Field(
      "soundFont", \.soundFont, .text(.path),
      "Path of the SoundFont for the MIDI files among the files. Default: the system's.",
      synonyms: ["soundfont"]),
    Field(
      "gain", \.volume, .decibels, "Gain in dB.", synonyms: ["level", "db"], earlierKey: "volume"),
    Field("mute", \.mute, .flag, "Whether the track is silent.", synonyms: ["muted"]),
    Field(
      "solo", \.solo, .flag, "Whether all tracks without solo are silent.", synonyms: ["soloed"]),
    Field(
      "rate", \.rate, .number(0.5...2, unit: "times"), "Speed at the same pitch.",
      synonyms: ["speed"]),
    Field(
      "pitch", \.pitch, .number(-2400...2400, unit: "cents"),
      "Pitch shift in cents at the same speed."),
    Field(
      "pan", \.pan, .number(-1...1, unit: ""), "Balance from -1, left, to 1, right.",
      synonyms: ["balance"]),
    Field("fadeIn", \.fadeIn, .seconds, "Duration of the fade-in in seconds."),
    Field("fadeOut", \.fadeOut, .seconds, "Duration of the fade-out in seconds."),
    Field(
      "trimStart", \.trimStart, .seconds,
      "Start of the part to play, in seconds from the beginning of the sound."),
    Field(
      "trimEnd", \.trimEnd, .seconds,
      "End of the part to play, in seconds from the beginning of the sound.", synonyms: ["end"]),
    Field("loop", \.loop, .flag, "Whether the part repeats without a gap.", synonyms: ["repeat"]),
    Field(
      "start", \.start, SessionStart.shape,
      "Position of the first frame on the session's timeline, as a frame, in seconds or in beats.",
      synonyms: ["at", "offset"]),
    Field(
      "chain", \.chain, .plugins, "Plugins that process the track, in order.",
      synonyms: ["plugins", "effects"]),
    Field(
      "delay", \.delay, .delay,
      "Time by which the sound is late at the track's ports, or at the bus that receives it.",
      synonyms: ["late", "latency", "ms"]),
    Field(
      "bus", \.bus, .text(.name),
      "Name of the bus that receives the track. Without it, the track has JACK ports of its own.",
      synonyms: ["output", "mixer"]),
    Field(
      "ports", \.ports, .ports,
      "JACK ports that the track's own ports are connected to, in order. An empty list connects none; without "
        + "a list, the ports go to the sound card.", synonyms: ["connect"]),
  ]
  package static let shape = RecordShape("track", fields.map(\.shape))
}
