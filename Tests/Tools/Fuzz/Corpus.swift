import Foundation

/// The files to damage: a small one of every format.
struct Corpus {
  struct File {
    let name: String
    let bytes: [UInt8]
  }
  let files: [File]

  /// Reads the files of a folder.
  init(folder: String, only: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    files = try names.filter { only.isEmpty || $0.contains(only) }.map { name in
      File(
        name: name, bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))))
    }
    guard !files.isEmpty else { throw FuzzError("no file has '\(only)' in its name") }
  }

  /// File names and the ffmpeg arguments that create them.
  private static let recipes: [(name: String, arguments: String)] = [
    ("aac.aac", "-c:a aac"),
    ("crc.aac", "-c:a aac -ac 1 -ar 8000"),
    ("l3.mp3", "-c:a libmp3lame -metadata title=T -metadata artist=A"),
    ("plain.mp3", "-c:a libmp3lame -write_xing 0 -id3v2_version 0 -ar 16000 -ac 1"),
    ("l2.mp2", "-c:a mp2"),
    ("ac3.ac3", "-c:a ac3"),
    ("eac3.eac3", "-c:a eac3"),
    ("flac.flac", "-c:a flac -frame_size 512 -metadata title=T"),
    ("aac.m4a", "-c:a aac -metadata title=T"),
    ("fast.m4a", "-c:a aac -movflags +faststart"),
    ("alac.m4a", "-c:a alac -movflags +faststart"),
    ("fragments.mp4", "-c:a aac -movflags frag_keyframe+empty_moov"),
    ("many.mp4", "-c:a alac -movflags frag_keyframe+empty_moov -frag_duration 30000"),
    ("ac3.mp4", "-c:a ac3 -movflags +faststart"),
    ("flac.mp4", "-c:a flac -strict -2 -movflags +faststart"),
    ("opus.mp4", "-c:a libopus -ar 48000 -strict -2"),
    ("amr.3gp", "-c:a libopencore_amrnb -ar 8000 -ac 1 -b:a 12.2k"),
    ("nb.amr", "-c:a libopencore_amrnb -ar 8000 -ac 1 -b:a 12.2k"),
    ("opus.ogg", "-c:a libopus -ar 48000"),
    ("vorbis.ogg", "-c:a libvorbis"),
    ("flac.ogg", "-c:a flac"),
    ("mono.ogg", "-c:a libvorbis -ac 1 -ar 16000"),
    ("mono.flac", "-c:a flac -ac 1 -ar 16000"),
    ("s16.wav", "-c:a pcm_s16le -metadata title=T"),
    ("f64.wav", "-c:a pcm_f64le -ac 3 -ar 8000"),
    ("six.wav", "-c:a pcm_s24le -ac 6 -ar 8000"),
    ("ulaw.wav", "-c:a pcm_mulaw"),
    ("alaw.wav", "-c:a pcm_alaw"),
    ("ima.wav", "-c:a adpcm_ima_wav"),
    ("gsm.wav", "-c:a libgsm_ms -ar 8000 -ac 1"),
    ("mp3.wav", "-c:a libmp3lame"),
    ("u8.w64", "-c:a pcm_u8"),
    ("s16.w64", "-c:a pcm_s16le"),
    ("s16.rf64", "-c:a pcm_s16le -rf64 always -f wav"),
    ("s16.aiff", "-c:a pcm_s16be -metadata title=T"),
    ("f32.aiff", "-c:a pcm_f32be"),
    ("ima.aiff", "-c:a adpcm_ima_qt"),
    ("s16.caf", "-c:a pcm_s16be -metadata title=T"),
    ("f32.caf", "-c:a pcm_f32le"),
    ("alac.caf", "-c:a alac"),
    ("opus.caf", "-c:a libopus -ar 48000"),
    ("ima.caf", "-c:a adpcm_ima_qt"),
    ("ulaw.caf", "-c:a pcm_mulaw"),
    ("s24.au", "-c:a pcm_s24be"),
    ("ulaw.au", "-c:a pcm_mulaw"),
    ("wavpack.wv", "-c:a wavpack"),
    ("tta.tta", "-c:a tta"),
  ]

  /// Creates the files, except those for which this machine's ffmpeg has no encoder. It throws if there
  /// are too few files to be meaningful.
  static func make(in folder: String, only: String) throws {
    func isWanted(_ name: String) -> Bool { only.isEmpty || name.contains(only) }
    var made = 0
    for (name, arguments) in recipes where isWanted(name) {
      let source = "anoisesrc=duration=0.2:seed=3:amplitude=0.5:sample_rate=44100"
      let result = try execute(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", source, "-ac", "2", "-fflags", "+bitexact"]
          + ["-flags:a", "+bitexact"] + arguments.split(separator: " ").map(String.init)
          + ["\(folder)/\(name)"])
      if result {
        made += 1
      } else {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    for (name, options) in [("s8.aiff", ["-b", "8"]), ("s16.aifc", []), ("s16.snd", [])]
    where isWanted(name) {
      let shape = ["-n", "-r", "44100", "-c", "2"] + options
      if try execute("sox", shape + ["\(folder)/\(name)", "synth", "0.1", "sine", "440"]) {
        made += 1
      }
    }
    let free = ["--quiet", "--freeformat", "-b", "400", "\(folder)/s16.wav", "\(folder)/free.mp3"]
    if isWanted("free.mp3"), isWanted("s16.wav"), try execute("lame", free) { made += 1 }
    let joined = [
      ("joined.flac", "flac.flac", "flac.ogg"), ("chain.ogg", "vorbis.ogg", "mono.ogg"),
      ("other.flac", "flac.flac", "mono.flac"), ("behind.mp3", "l3.mp3", "s16.wav"),
      ("behind.wv", "wavpack.wv", "tta.tta"),
    ]
    for (name, first, second) in joined
    where isWanted(name) && isWanted(first) && isWanted(second) {
      let parts = try [first, second].map {
        try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\($0)"))
      }
      try (parts[0] + parts[1]).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    guard !only.isEmpty || made > 35 else { throw FuzzError("only \(made) files could be made") }
    guard isWanted("alac.caf") else { return }
    // A CAF file with its packet table before the audio data, as for streaming.
    let alac = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/alac.caf"))
    try Data(withSoundLast([UInt8](alac))).write(to: URL(fileURLWithPath: "\(folder)/front.caf"))
  }

  private static func withSoundLast(_ file: [UInt8]) -> [UInt8] {
    var sorted = Array(file[..<8])
    var sound: ArraySlice<UInt8> = []
    var rest = file[8...]
    while rest.count >= 12 {
      let size = 12 + rest.dropFirst(4).prefix(8).reduce(0) { $0 << 8 | Int($1) }
      if rest.starts(with: "data".utf8) {
        sound = rest.prefix(size)
      } else {
        sorted += rest.prefix(size)
      }
      rest = rest.dropFirst(size)
    }
    return sorted + sound
  }

  static func execute(_ program: String, _ arguments: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}

struct FuzzError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
