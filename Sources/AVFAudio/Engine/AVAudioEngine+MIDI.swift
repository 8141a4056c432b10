public import AudioToolbox
import AudioUnits
import CRealTime
import System

/// The number of a frame.
public typealias AUEventSampleTime = Int64

/// A function that hears what a node writes as MIDI, in the cycle: it neither allocates nor waits.
///
/// It gets the frame of a message, the number of the cable, which is 0, and one universal packet of MIDI 1.0. A system
/// exclusive message comes in packets of six bytes. What the function returns has no effect.
public typealias AUMIDIEventListBlock = (
  AUEventSampleTime, UInt8, UnsafePointer<MIDIEventList>
) -> OSStatus

/// The same for bytes: the frame of a message, the number of the cable, which is 0, and the message.
public typealias AUMIDIOutputEventBlock = (
  AUEventSampleTime, UInt8, Int, UnsafePointer<UInt8>
) -> OSStatus

extension AVAudioEngine {
  // MARK: MIDI

  /// Connects what a node writes as MIDI to another node, which hears each message on its frame, in the same render.
  ///
  /// The source renders with its destinations, whether its sound goes anywhere or not. If its sound goes nowhere, its
  /// output gets the format, or that of the destination for nil. A destination has one source: an earlier one is
  /// disconnected. The function hears what the source writes, too, in place of the source's earlier one.
  ///
  /// Ends the program if the source is no LV2 plugin that writes MIDI, or if the destination hears none or comes before
  /// the source.
  public func connectMIDI(
    _ sourceNode: AVAudioNode, to destinationNode: AVAudioNode, format: AVAudioFormat?,
    eventListBlock tapBlock: AUMIDIEventListBlock? = nil
  ) {
    unsafe connectMIDI(sourceNode, to: [destinationNode], format: format, eventListBlock: tapBlock)
  }

  /// Connects what a node writes as MIDI to several nodes. They render at one rate.
  public func connectMIDI(
    _ sourceNode: AVAudioNode, to destinationNodes: [AVAudioNode], format: AVAudioFormat?,
    eventListBlock tapBlock: AUMIDIEventListBlock? = nil
  ) {
    connect(
      sourceNode, destinationNodes, format, unsafe tapBlock.map { unsafe MIDITap(packets: $0) })
  }

  /// The same with a function that hears bytes.
  @_disfavoredOverload
  public func connectMIDI(
    _ sourceNode: AVAudioNode, to destinationNode: AVAudioNode, format: AVAudioFormat?,
    block tapBlock: AUMIDIOutputEventBlock? = nil
  ) {
    unsafe connectMIDI(sourceNode, to: [destinationNode], format: format, block: tapBlock)
  }

  /// The same with several destinations, and a function that hears bytes.
  @_disfavoredOverload
  public func connectMIDI(
    _ sourceNode: AVAudioNode, to destinationNodes: [AVAudioNode], format: AVAudioFormat?,
    block tapBlock: AUMIDIOutputEventBlock? = nil
  ) {
    connect(sourceNode, destinationNodes, format, unsafe tapBlock.map { unsafe MIDITap(bytes: $0) })
  }

  /// Ends a MIDI connection, and the notes of the destination.
  public func disconnectMIDI(_ sourceNode: AVAudioNode, from destinationNode: AVAudioNode) {
    disconnectMIDI(sourceNode, from: [destinationNode])
  }

  /// Ends the MIDI connections to several nodes, and their notes.
  public func disconnectMIDI(_ sourceNode: AVAudioNode, from destinationNodes: [AVAudioNode]) {
    edit {
      disconnectMIDI { connection in
        connection.source === sourceNode
          && destinationNodes.contains { $0 === connection.destination }
      }
    }
  }

  /// Ends the MIDI connection to a node, and its notes.
  public func disconnectMIDIInput(_ node: AVAudioNode) {
    edit { disconnectMIDI { $0.destination === node } }
  }

  /// Ends the MIDI connections from a node, and the notes of their destinations.
  public func disconnectMIDIOutput(_ node: AVAudioNode) {
    edit { disconnectMIDI { $0.source === node } }
  }

  private func connect(
    _ node: AVAudioNode, _ nodes: [AVAudioNode], _ format: AVAudioFormat?, _ tap: MIDITap?
  ) {
    edit {
      check(node, "connectMIDI")
      guard let source = node as? AVAudioUnit, source.component.hasMIDIOutput,
        let plugin = source.core as? LV2Unit
      else {
        refuse("AVAudioEngine.connectMIDI: \(node) is no LV2 plugin that writes MIDI")
      }
      let destinations = nodes.map { node in
        check(node, "connectMIDI")
        guard let unit = node as? AVAudioUnit, unit.component.hasMIDIInput else {
          refuse("AVAudioEngine.connectMIDI: \(node) hears no MIDI")
        }
        if comes(unit, before: source) {
          refuse("AVAudioEngine.connectMIDI: \(unit) comes before \(source)")
        }
        return unit
      }
      disconnectMIDI { connection in destinations.contains { $0 === connection.destination } }
      for destination in destinations {
        midiConnections.append(MIDIConnection(source, plugin, destination, tap, format))
        alignMIDISource(of: destination)
        destination.core.setMIDISource(plugin)
      }
      setTap(of: plugin)
    }
  }

  /// Ends MIDI connections. Call it in an edit.
  func disconnectMIDI(_ isMeant: (MIDIConnection) -> Bool) {
    let meant = midiConnections.filter(isMeant)
    midiConnections.removeAll(where: isMeant)
    for connection in meant {
      if !connection.destination.core.setMIDISource(nil) { keepForGood(connection.source) }
      setTap(of: connection.plugin)
    }
  }

  /// Lets the function of the latest connection hear a source.
  private func setTap(of plugin: LV2Unit) {
    let tap = midiConnections.last { $0.plugin === plugin }?.tap
    plugin.setMessageTap(tap?.tap, keeping: tap ?? plugin)
  }

  /// Gives the MIDI source of a node, whose output's format has changed, the same one. Call it in an edit.
  func alignMIDISource(of node: AVAudioNode) {
    var node = node
    while let connection = midiConnections.first(where: { $0.destination === node }),
      !connections.contains(where: {
        $0.source === connection.source || $0.destination === connection.source
      })
    {
      connection.source.setOutput(connection.format ?? node.outputFormat(forBus: 0))
      node = connection.source
    }
  }
}

/// A connection of a node that writes MIDI to one that hears it.
final class MIDIConnection {
  let source: AVAudioUnit
  /// The unit of the source.
  let plugin: LV2Unit
  let destination: AVAudioUnit
  let tap: MIDITap?
  /// The format of the source's output; nil for that of the destination.
  let format: AVAudioFormat?

  init(
    _ source: AVAudioUnit, _ plugin: LV2Unit, _ destination: AVAudioUnit, _ tap: MIDITap?,
    _ format: AVAudioFormat?
  ) {
    self.source = source
    self.plugin = plugin
    self.destination = destination
    self.tap = tap
    self.format = format
  }
}
