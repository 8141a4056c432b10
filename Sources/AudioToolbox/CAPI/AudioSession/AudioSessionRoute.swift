package import AudioUnits
import CAudioToolbox
import CoreFoundation
import Foundation
import Server

// Keys and values that the header defines as constant strings of C.
extension String {
  fileprivate static let oldRouteDescription = "ActiveAudioRouteDidChange_OldDetailedRoute"
  fileprivate static let newRouteDescription = "ActiveAudioRouteDidChange_NewDetailedRoute"
  fileprivate static let inputs = "RouteDetailedDescription_Inputs"
  fileprivate static let outputs = "RouteDetailedDescription_Outputs"
  fileprivate static let portType = "RouteDetailedDescription_PortType"
  fileprivate static let name = "RouteDetailedDescription_Name"
  fileprivate static let uid = "RouteDetailedDescription_UID"
  fileprivate static let channels = "RouteDetailedDescription_ChannelDescriptions"
  fileprivate static let channelName = "ChannelDescription_Name"
  package static let lineIn = "LineIn"
  package static let lineOut = "LineOut"
}

extension CardRoute {
  package var inputCards: [RoutedCard] { Self.cards(inputs) }
  package var outputCards: [RoutedCard] { Self.cards(outputs) }

  private static func cards(_ ports: [String]) -> [RoutedCard] {
    var cards: [RoutedCard] = []
    for port in ports {
      let name = String(port[..<(port.lastIndex(of: ":") ?? port.endIndex)])
      if let i = cards.firstIndex(where: { $0.name == name }) {
        cards[i].ports.append(port)
      } else {
        cards.append(RoutedCard(name: name, ports: [port]))
      }
    }
    return cards
  }

  /// The value of kAudioSessionProperty_AudioRoute.
  var name: String {
    switch (inputs.isEmpty, outputs.isEmpty) {
    case (true, true): ""
    case (true, false): .lineOut
    case (false, true): .lineIn
    case (false, false): "LineInOut"
    }
  }

  /// The value of kAudioSessionProperty_AudioRouteDescription.
  func description(of server: String) -> CFMutableDictionary {
    func entries(_ cards: [RoutedCard], _ type: String) -> CFMutableArray {
      makeArray(
        cards.map { card in
          let channels = card.ports.map { makeDictionary([(.channelName, $0.cfString)]) }
          return makeDictionary([
            (.portType, type.cfString), (.name, card.name.cfString),
            (.uid, "jack:\(server)/\(card.name)".cfString), (.channels, makeArray(channels)),
          ])
        })
    }
    return makeDictionary([
      (.inputs, entries(inputCards, .lineIn)), (.outputs, entries(outputCards, .lineOut)),
    ])
  }
}

extension AudioSessionEvent.RouteChangeReason {
  /// The reason's code.
  package var code: UInt32 {
    switch self {
    case .newDevice: kAudioSessionRouteChangeReason_NewDeviceAvailable
    case .oldDevice: kAudioSessionRouteChangeReason_OldDeviceUnavailable
    case .categoryChange: kAudioSessionRouteChangeReason_CategoryChange
    case .noSuitableRoute: kAudioSessionRouteChangeReason_NoSuitableRouteForCategory
    }
  }
}

/// Returns what listeners of kAudioSessionProperty_AudioRouteChange get.
func routeChange(
  _ reason: AudioSessionEvent.RouteChangeReason, old: CardRoute, new: CardRoute, server: String
) -> CFMutableDictionary {
  makeDictionary([
    (kAudioSession_AudioRouteChangeKey_Reason, NSNumber(value: reason.code)),
    (kAudioSession_AudioRouteChangeKey_OldRoute, old.name.cfString),
    (.oldRouteDescription, old.description(of: server)),
    (.newRouteDescription, new.description(of: server)),
  ])
}
