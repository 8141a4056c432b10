// Mixes two loops, one stereo and one mono, in a graph of audio units, and obeys typed commands.
//
// Usage: mixer-host-swift STEREO-FILE MONO-FILE
//
// Commands, a line each; bus 0 plays the stereo file, bus 1 the mono file:
//   start, stop        starts and stops the graph; the loops keep their places
//   enable BUS 0|1     switches a bus off and on
//   gain BUS GAIN      sets the gain of a bus, from 0 to 1
//   output GAIN        sets the gain of the mix, from 0 to 1
//   quit               ends the program, as the end of the input does
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it. Run it on a JACK server: mixer-host-swift guitar.wav beats.wav
//
// The files are read into memory, at the sample rate of the device. A MultiChannelMixer asks a render
// callback for the frames of each bus, and RemoteIO asks the mixer for the mix. All this happens on
// JACK's process thread, where nothing may allocate or lock. So the callback uses pointers and numbers
// only: no array, no object, no closure with a context.

import AudioToolbox
import Foundation

/// A failed call of the C API, with its result.
struct Failure: Error, CustomStringConvertible {
  let call: String
  let status: OSStatus
  var description: String { "\(call): \(status)" }
}

/// Throws if the result of `call` is not noErr.
func check(_ status: OSStatus, _ call: String) throws(Failure) {
  guard status == noErr else { throw Failure(call: call, status: status) }
}

// MARK: Loops

/// A file in memory: one plane of `frames` samples behind the other. The render callback alone uses
/// `next`.
struct Loop {
  let samples: UnsafeMutablePointer<Float>
  let channels: Int
  let frames: Int
  var next = 0

  /// Reads a whole file at a sample rate. A stereo loop has a mono file on both channels, a mono loop
  /// the first channel of a stereo file.
  init(_ path: String, rate: Double, channels: Int) throws(Failure) {
    var opened: ExtAudioFileRef?
    try check(ExtAudioFileOpenURL(URL(fileURLWithPath: path) as CFURL, &opened), path)
    let file = opened!
    defer { ExtAudioFileDispose(file) }
    // Interleaved while it is read, because its length is not known before.
    var format = floats(rate: rate, channels: channels, isInterleaved: true)
    try check(
      ExtAudioFileSetProperty(
        file, kExtAudioFileProperty_ClientDataFormat,
        UInt32(MemoryLayout.size(ofValue: format)), &format), "ExtAudioFileSetProperty")
    var interleaved: [Float] = []
    var piece = [Float](repeating: 0, count: 8192 * channels)
    var count: UInt32
    repeat {
      count = 8192
      let status = piece.withUnsafeMutableBytes { bytes in
        var list = AudioBufferList(
          mNumberBuffers: 1,
          mBuffers: AudioBuffer(
            mNumberChannels: UInt32(channels), mDataByteSize: UInt32(bytes.count),
            mData: bytes.baseAddress))
        return ExtAudioFileRead(file, &count, &list)
      }
      try check(status, "ExtAudioFileRead")
      interleaved += piece.prefix(Int(count) * channels)
    } while count > 0
    try check(interleaved.isEmpty ? kAudioFileEndOfFileError : noErr, path)
    frames = interleaved.count / channels
    self.channels = channels
    samples = .allocate(capacity: interleaved.count)
    for (i, sample) in interleaved.enumerated() {
      (samples + i % channels * frames + i / channels).initialize(to: sample)
    }
  }
}

/// Describes floats, by default with a buffer for each channel, as audio units pass them to each other.
func floats(rate: Double, channels: Int, isInterleaved: Bool = false)
  -> AudioStreamBasicDescription
{
  var format = AudioStreamBasicDescription()
  format.mSampleRate = rate
  format.mFormatID = kAudioFormatLinearPCM
  format.mFormatFlags = kAudioFormatFlagIsFloat | kAudioFormatFlagIsPacked
  if !isInterleaved { format.mFormatFlags |= kAudioFormatFlagIsNonInterleaved }
  format.mChannelsPerFrame = UInt32(channels)
  format.mBitsPerChannel = 32
  format.mBytesPerFrame = isInterleaved ? UInt32(4 * channels) : 4
  format.mFramesPerPacket = 1
  format.mBytesPerPacket = format.mBytesPerFrame
  return format
}

/// Gives the mixer the next frames of a bus's loop, from its beginning again after its end.
let render: AURenderCallback = { loops, _, _, bus, frames, list in
  guard let list else { return kAudio_ParamError }
  let loop = loops.assumingMemoryBound(to: Loop.self) + Int(bus)
  let count = loop.pointee.frames
  // The list has as many buffers as its first member says, one behind the other.
  let buffers = UnsafeMutableRawPointer(list)
    .advanced(by: MemoryLayout<AudioBufferList>.offset(of: \.mBuffers)!)
    .assumingMemoryBound(to: AudioBuffer.self)
  var done = 0
  while done < Int(frames) {
    let next = loop.pointee.next
    let piece = min(count - next, Int(frames) - done)
    for channel in 0..<loop.pointee.channels {
      let output = buffers[channel].mData!.assumingMemoryBound(to: Float.self)
      let plane = loop.pointee.samples + channel * count
      (output + done).update(from: plane + next, count: piece)
    }
    done += piece
    loop.pointee.next = (next + piece) % count
  }
  return noErr
}

// MARK: The graph

/// A graph of a mixer and RemoteIO. One thread at a time.
final class MixerHost {
  private var graph: AUGraph?
  private var mixer: AudioUnit?
  /// One for each bus. The render callback reads them, so they are in memory that does not move.
  private let loops = UnsafeMutablePointer<Loop>.allocate(capacity: 2)
  private var loopCount = 0

  /// Makes the graph: loops → mixer → output.
  init(stereo: String, mono: String) throws(Failure) {
    try check(NewAUGraph(&graph), "NewAUGraph")
    let mixerNode = try addNode(kAudioUnitType_Mixer, kAudioUnitSubType_MultiChannelMixer)
    let outputNode = try addNode(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO)
    try check(
      AUGraphConnectNodeInput(graph!, mixerNode, 0, outputNode, 0), "AUGraphConnectNodeInput")
    try check(AUGraphOpen(graph!), "AUGraphOpen")
    var output: AudioUnit?
    try check(AUGraphNodeInfo(graph!, mixerNode, nil, &mixer), "AUGraphNodeInfo")
    try check(AUGraphNodeInfo(graph!, outputNode, nil, &output), "AUGraphNodeInfo")

    // Everything runs at the rate of the device.
    var rate = 0.0
    var size = UInt32(MemoryLayout.size(ofValue: rate))
    try check(
      AudioUnitGetProperty(
        output!, kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0, &rate, &size),
      "AudioUnitGetProperty(SampleRate)")
    try set(kAudioUnitProperty_SampleRate, kAudioUnitScope_Output, 0, rate)
    try set(kAudioUnitProperty_ElementCount, kAudioUnitScope_Input, 0, UInt32(2))
    for (bus, file) in [(path: stereo, channels: 2), (path: mono, channels: 1)].enumerated() {
      (loops + bus).initialize(
        to: try Loop(file.path, rate: rate, channels: file.channels))
      loopCount += 1
      try set(
        kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, UInt32(bus),
        floats(rate: rate, channels: file.channels))
      var callback = AURenderCallbackStruct(inputProc: render, inputProcRefCon: loops)
      try check(
        AUGraphSetNodeInputCallback(graph!, mixerNode, UInt32(bus), &callback),
        "AUGraphSetNodeInputCallback")
    }
    try check(AUGraphInitialize(graph!), "AUGraphInitialize")
  }

  deinit {
    // Afterwards no callback runs.
    if let graph { DisposeAUGraph(graph) }
    for bus in 0..<loopCount { loops[bus].samples.deallocate() }
    loops.deallocate()
  }

  private func addNode(_ type: OSType, _ subtype: OSType) throws(Failure) -> AUNode {
    var description = AudioComponentDescription(
      componentType: type, componentSubType: subtype,
      componentManufacturer: kAudioUnitManufacturer_Apple, componentFlags: 0, componentFlagsMask: 0)
    var node: AUNode = 0
    try check(AUGraphAddNode(graph!, &description, &node), "AUGraphAddNode")
    return node
  }

  /// Sets a property of the mixer.
  private func set<Value: BitwiseCopyable>(
    _ property: AudioUnitPropertyID, _ scope: AudioUnitScope, _ bus: UInt32, _ value: Value
  ) throws(Failure) {
    var value = value
    try check(
      AudioUnitSetProperty(
        mixer!, property, scope, bus, &value, UInt32(MemoryLayout<Value>.size)),
      "AudioUnitSetProperty(\(property))")
  }

  /// Sets a parameter of the mixer, which takes it over in its next render, without a click.
  private func set(
    _ parameter: AudioUnitParameterID, _ scope: AudioUnitScope, bus: UInt32 = 0, to value: Float
  ) throws(Failure) {
    try check(
      AudioUnitSetParameter(mixer!, parameter, scope, bus, value, 0), "AudioUnitSetParameter")
  }

  /// Obeys a command.
  ///
  /// - Returns: False if there is no such command.
  func obey(_ command: String) throws(Failure) -> Bool {
    let words = command.split(separator: " ")
    let numbers = words.dropFirst().map { Float($0) ?? .nan }
    func isBus(_ number: Float) -> Bool { number == 0 || number == 1 }
    switch (words.first, numbers.count) {
    case ("start", 0): try check(AUGraphStart(graph!), "AUGraphStart")
    case ("stop", 0): try check(AUGraphStop(graph!), "AUGraphStop")
    case ("enable", 2) where isBus(numbers[0]):
      try set(
        kMultiChannelMixerParam_Enable, kAudioUnitScope_Input, bus: UInt32(numbers[0]),
        to: numbers[1] == 0 ? 0 : 1)
    case ("gain", 2) where isBus(numbers[0]) && numbers[1] >= 0:
      try set(
        kMultiChannelMixerParam_Volume, kAudioUnitScope_Input, bus: UInt32(numbers[0]),
        to: numbers[1])
    case ("output", 1) where numbers[0] >= 0:
      try set(kMultiChannelMixerParam_Volume, kAudioUnitScope_Output, to: numbers[0])
    default: return false
    }
    return true
  }
}

// MARK: The program

func report(_ words: Any) {
  FileHandle.standardError.write(Data("mixer-host-swift: \(words)\n".utf8))
}

@main
enum Main {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let stereo = arguments.first, let mono = arguments.last else {
      FileHandle.standardError.write(Data("usage: mixer-host-swift STEREO-FILE MONO-FILE\n".utf8))
      exit(64)
    }
    do {
      let host = try MixerHost(stereo: stereo, mono: mono)
      while let command = readLine(), command != "quit" {
        if !command.isEmpty, try !host.obey(command) {
          report("there is no command “\(command)”")
        }
      }
      _ = try host.obey("stop")
    } catch {
      report(error)
      exit(1)
    }
  }
}
