import Foundation

/// A number of frames.
public typealias AVAudioFrameCount = UInt32
/// A number of packets.
public typealias AVAudioPacketCount = UInt32
/// A number of channels.
public typealias AVAudioChannelCount = UInt32
/// A frame's number in a file or a timeline.
public typealias AVAudioFramePosition = Int64
/// The number of a bus of a node.
public typealias AVAudioNodeBus = Int

/// Ends the program, as an Objective-C exception does on Apple's systems.
///
/// - Parameter sentence: The call and the rule that it breaks.
package func refuse(_ sentence: String) -> Never { fatalError(sentence) }

extension NSObject {
  /// The class and the address, with which descriptions of objects begin.
  package var identity: String {
    "\(type(of: self)) 0x" + String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
  }
}
