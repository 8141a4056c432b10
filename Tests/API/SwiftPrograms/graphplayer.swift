// Plays a file through an AUGraph: a file player and the default output.
//
// Usage: graphplayer FILE

import AudioToolbox
import AudioUnit
import Foundation

struct GraphError: Error { let status: OSStatus }

func attempt(_ body: @autoclosure () -> OSStatus) throws {
  let status = body()
  if status != noErr { throw GraphError(status: status) }
}

final class GraphPlayer {
  var inputFile: AudioFileID?
  var inputFormat = AudioStreamBasicDescription()
  var graph: AUGraph?
  var fileAU: AudioUnit?

  func open(_ path: String) throws {
    let url = NSURL(fileURLWithPath: path)
    try attempt(AudioFileOpenURL(url, .readPermission, 0, &inputFile))
    var size = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
    try attempt(
      AudioFileGetProperty(inputFile!, kAudioFilePropertyDataFormat, &size, &inputFormat))
  }

  func createGraph() throws {
    try attempt(NewAUGraph(&graph))
    guard let graph else { return }
    var outputDescription = AudioComponentDescription()
    outputDescription.componentType = kAudioUnitType_Output
    outputDescription.componentSubType = kAudioUnitSubType_DefaultOutput
    outputDescription.componentManufacturer = kAudioUnitManufacturer_Apple
    var outputNode = AUNode()
    try attempt(AUGraphAddNode(graph, &outputDescription, &outputNode))

    var playerDescription = AudioComponentDescription(
      componentType: kAudioUnitType_Generator,
      componentSubType: kAudioUnitSubType_AudioFilePlayer,
      componentManufacturer: kAudioUnitManufacturer_Apple,
      componentFlags: 0,
      componentFlagsMask: 0)
    var fileNode: AUNode = 0
    try attempt(AUGraphAddNode(graph, &playerDescription, &fileNode))
    try attempt(AUGraphOpen(graph))
    try attempt(AUGraphNodeInfo(graph, fileNode, nil, &fileAU))
    try attempt(AUGraphConnectNodeInput(graph, fileNode, 0, outputNode, 0))
    try attempt(AUGraphInitialize(graph))
  }

  func prepareFileAU() throws -> Float64 {
    guard let fileAU, let inputFile else { return 0 }
    var file: AudioFileID? = inputFile
    try attempt(
      AudioUnitSetProperty(
        fileAU, kAudioUnitProperty_ScheduledFileIDs, kAudioUnitScope_Global, 0, &file,
        UInt32(MemoryLayout<AudioFileID>.size)))

    var packetCount: UInt64 = 0
    var size = UInt32(MemoryLayout<UInt64>.size)
    try attempt(
      AudioFileGetProperty(inputFile, kAudioFilePropertyAudioDataPacketCount, &size, &packetCount))
    let frames = UInt32(packetCount) * inputFormat.mFramesPerPacket

    var startTime = AudioTimeStamp()
    startTime.mFlags = .sampleTimeValid
    startTime.mSampleTime = 0
    var region = ScheduledAudioFileRegion(
      mTimeStamp: startTime,
      mCompletionProc: nil,
      mCompletionProcUserData: nil,
      mAudioFile: inputFile,
      mLoopCount: 0,
      mStartFrame: 0,
      mFramesToPlay: frames)
    try attempt(
      AudioUnitSetProperty(
        fileAU, kAudioUnitProperty_ScheduledFileRegion, kAudioUnitScope_Global, 0, &region,
        UInt32(MemoryLayout<ScheduledAudioFileRegion>.size)))

    var defaultVal: UInt32 = 0
    try attempt(
      AudioUnitSetProperty(
        fileAU, kAudioUnitProperty_ScheduledFilePrime, kAudioUnitScope_Global, 0, &defaultVal,
        UInt32(MemoryLayout.size(ofValue: defaultVal))))

    // -1: on the next render cycle.
    startTime.mSampleTime = -1
    try attempt(
      AudioUnitSetProperty(
        fileAU, kAudioUnitProperty_ScheduleStartTimeStamp, kAudioUnitScope_Global, 0, &startTime,
        UInt32(MemoryLayout.size(ofValue: startTime))))
    return Float64(frames) / inputFormat.mSampleRate
  }

  func stop() {
    guard let graph else { return }
    AUGraphStop(graph)
    AUGraphUninitialize(graph)
    AUGraphClose(graph)
    DisposeAUGraph(graph)
    if let inputFile { AudioFileClose(inputFile) }
  }
}

do {
  let player = GraphPlayer()
  try player.open(CommandLine.arguments[1])
  try player.createGraph()
  let seconds = try player.prepareFileAU()
  try attempt(AUGraphStart(player.graph!))
  var isRunning: DarwinBoolean = false
  try attempt(AUGraphIsRunning(player.graph!, &isRunning))
  print(String(format: "Playing %.2f seconds: %@", seconds, isRunning.boolValue ? "yes" : "no"))
  usleep(useconds_t((seconds + 0.5) * 1_000_000))
  player.stop()
} catch {
  print("Error: \(error)")
  exit(1)
}
