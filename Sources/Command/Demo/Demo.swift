import ArgumentParser
import Codecs
import Files
import RealTime
import Sessions
import System

/// `cuejack demo`: makes the sound files of the tutorial.
struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo", abstract: "Make the sound files of the tutorial.",
    discussion: """
      Drums, bass and chords that belong together, of twelve seconds at 96 beats per minute, in three formats \
      and at two sample rates, and one bar of a click: drums.wav, bass.aiff, chords.caf and click.wav. They \
      are computed, and the same each time. An existing file is an error.
      """
        + examples(
          "cuejack demo",
          "cuejack demo music && cuejack play music/drums.wav music/bass.aiff"))

  @Argument(
    help: "The folder to write to, which is made if necessary.", completion: .directory)
  var folder = "demo"

  @Flag(help: "Replace existing files.")
  var force = false

  /// The files and how each is made. `make demo` takes the last one as the sign that all are there.
  private static let files: [(name: String, coding: String, sound: @Sendable () -> DemoSound)] = [
    ("bass.aiff", "s24", { DemoMusic.bass(rate: 48000) }),
    ("chords.caf", "f32", { DemoMusic.chords(rate: 44100) }),
    ("click.wav", "s16", { DemoMusic.click(rate: 48000) }),
    ("drums.wav", "s16", { DemoMusic.drums(rate: 48000) }),
  ]

  func run() throws {
    let folder = String(folder.withoutLastSlash)
    do throws(SoundFileError) {
      guard makeFolders(folder) else {
        throw SoundFileError(.cannotWrite("the folder cannot be made"), path: folder)
      }
      for file in Self.files {
        try write(file.sound(), to: "\(folder)/\(file.name)", SoundCoding(file.coding))
      }
    } catch {
      Screen.shared.complain("\(error)")
      if error.kind == .exists { Screen.shared.remark("--force replaces it") }
      throw ExitCode.failure
    }
  }

  private func write(_ sound: DemoSound, to path: String, _ coding: SoundCoding?)
    throws(SoundFileError)
  {
    let kind = try SoundFormat(
      path: path, coding: coding, bits: nil, pcm: .pcm(.signedInteger, bits: 16), losslessBits: 16)
    let input = PCMFormat(sampleRate: sound.rate, channels: 2, kind: .float, bitsPerSample: 64)
    let plan = try SoundWriter.Plan(
      path, container: kind.container, format: kind.stream(sampleRate: sound.rate, channels: 2),
      from: input)
    let file = try UnfinishedFile(path, isReplacing: force)
    try file.naming { () throws(SoundFileError) in
      let writer = try SoundWriter(file.store, plan)
      let samples = zip(sound.left, sound.right).flatMap { [$0, $1] }
      let written = unsafe samples.withUnsafeBytes { bytes in
        Result { () throws(SoundFileError) in try unsafe writer.write(bytes) }
      }
      try written.get()
      try writer.close()
    }
    try file.finish()
    Screen.shared.say(path)
  }
}
