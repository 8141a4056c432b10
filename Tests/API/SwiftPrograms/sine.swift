// Plays a tone through the default output unit, whose render callback makes the samples.
//
// Usage: sine SECONDS

import AudioUnit
import Foundation

let sineFrequency = 880.0

final class SineWavePlayer {
  var outputUnit: AudioUnit?
  var startingFrameCount = 0.0
  var framesMade = 0
}

let sineWaveRenderProc: AURenderCallback = {
  (
    inRefCon: UnsafeMutableRawPointer,
    ioActionFlags: UnsafeMutablePointer<AudioUnitRenderActionFlags>,
    inTimeStamp: UnsafePointer<AudioTimeStamp>,
    inBusNumber: UInt32,
    inNumberFrames: UInt32,
    ioData: UnsafeMutablePointer<AudioBufferList>?
  ) -> OSStatus in
  let player = Unmanaged<SineWavePlayer>.fromOpaque(inRefCon).takeUnretainedValue()
  guard let buffers = UnsafeMutableAudioBufferListPointer(ioData) else { return noErr }
  var phase = player.startingFrameCount
  let cycleLength = 44100.0 / sineFrequency
  for frame in 0..<Int(inNumberFrames) {
    let sample = Float(0.5 * sin(2 * .pi * (phase / cycleLength)))
    for buffer in buffers {
      buffer.mData!.assumingMemoryBound(to: Float32.self)[frame] = sample
    }
    phase += 1
    if phase > cycleLength { phase -= cycleLength }
  }
  player.startingFrameCount = phase
  player.framesMade += Int(inNumberFrames)
  return noErr
}

func createAndConnectOutputUnit(_ player: SineWavePlayer) -> OSStatus {
  var description = AudioComponentDescription(
    componentType: kAudioUnitType_Output, componentSubType: kAudioUnitSubType_DefaultOutput,
    componentManufacturer: kAudioUnitManufacturer_Apple, componentFlags: 0, componentFlagsMask: 0)
  guard let component = AudioComponentFindNext(nil, &description) else {
    print("can't get output unit")
    exit(-1)
  }
  var name: Unmanaged<CFString>?
  AudioComponentCopyName(component, &name)
  if let name = name?.takeRetainedValue() as String? { print("Output: \(!name.isEmpty)") }
  var status = AudioComponentInstanceNew(component, &player.outputUnit)
  guard status == noErr, let unit = player.outputUnit else { return status }

  var format = AudioStreamBasicDescription()
  format.mSampleRate = 44100
  format.mFormatID = kAudioFormatLinearPCM
  format.mFormatFlags =
    AudioFormatFlags(kAudioFormatFlagsNativeFloatPacked) | kAudioFormatFlagIsNonInterleaved
  format.mBytesPerPacket = UInt32(MemoryLayout<Float32>.size)
  format.mFramesPerPacket = 1
  format.mBytesPerFrame = UInt32(MemoryLayout<Float32>.size)
  format.mChannelsPerFrame = 2
  format.mBitsPerChannel = UInt32(8 * MemoryLayout<Float32>.size)
  status = AudioUnitSetProperty(
    unit, kAudioUnitProperty_StreamFormat, kAudioUnitScope_Input, 0, &format,
    UInt32(MemoryLayout<AudioStreamBasicDescription>.size))
  guard status == noErr else { return status }

  var input = AURenderCallbackStruct(
    inputProc: sineWaveRenderProc,
    inputProcRefCon: Unmanaged.passUnretained(player).toOpaque())
  status = AudioUnitSetProperty(
    unit, kAudioUnitProperty_SetRenderCallback, kAudioUnitScope_Input, 0, &input,
    UInt32(MemoryLayout.size(ofValue: input)))
  guard status == noErr else { return status }
  return AudioUnitInitialize(unit)
}

let player = SineWavePlayer()
guard createAndConnectOutputUnit(player) == noErr, let unit = player.outputUnit,
  AudioOutputUnitStart(unit) == noErr
else {
  print("Error")
  exit(1)
}
Thread.sleep(forTimeInterval: TimeInterval(CommandLine.arguments[1]) ?? 1)
AudioOutputUnitStop(unit)
AudioUnitUninitialize(unit)
AudioComponentInstanceDispose(unit)
print("Made \(player.framesMade > 0 ? "frames" : "none")")
