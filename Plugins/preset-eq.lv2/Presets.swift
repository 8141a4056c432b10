/// The presets, in the order of the plugin's scale points.
enum Preset: Int {
  case flat, acoustic, bassBooster, bassReducer, classical, dance, deep, electronic, hipHop, jazz,
    latin
  case loudness, lounge, piano, pop, rhythmAndBlues, rock, smallSpeakers, spokenWord, trebleBooster
  case trebleReducer, vocalBooster

  /// Gains in decibels at 31.25, 62.5, 125, 250, 500, 1,000, 2,000, 4,000, 8,000 and 16,000 Hz.
  var gains: InlineArray<10, Double> {
    switch self {
    case .flat: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    case .acoustic: [4.5, 4.5, 3.5, 1, 1.5, 1.5, 3, 3.5, 3, 2]
    case .bassBooster: [6, 5, 4, 2.5, 1, 0, 0, 0, 0, 0]
    case .bassReducer: [-6, -5, -4, -2.5, -1, 0, 0, 0, 0, 0]
    case .classical: [4, 3.5, 3, 2, -1, -1, 0, 2, 3, 3.5]
    case .dance: [4, 6, 4.5, 0, 1.5, 3, 4.5, 4, 3, 0]
    case .deep: [5, 4, 2, 1, 2.5, 2, 1, -2, -3.5, -4.5]
    case .electronic: [4.5, 4, 1, 0, -2, 2, 1, 1.5, 4, 5]
    case .hipHop: [5, 4.5, 1.5, 2.5, -1, -1, 1.5, -0.5, 2, 3]
    case .jazz: [4, 3, 1.5, 2, -1.5, -1.5, 0, 1.5, 3, 3.5]
    case .latin: [4.5, 3, 0, 0, -1.5, -1.5, -1.5, 0, 3, 4.5]
    case .loudness: [6, 4, 0, 0, -2, 0, -1, -5, 5, 1]
    case .lounge: [-3, -1.5, -0.5, 1.5, 4, 2.5, 0, -1.5, 2, 1]
    case .piano: [3, 2, 0, 2.5, 3, 1.5, 3.5, 4.5, 3, 3.5]
    case .pop: [-1.5, -1, 0, 2, 4, 4, 2, 0, -1, -1.5]
    case .rhythmAndBlues: [3, 7, 5.5, 1.5, -2, -1.5, 2, 2.5, 3, 4]
    case .rock: [5, 4, 3, 1.5, -0.5, -1, 0.5, 2.5, 3.5, 4.5]
    case .smallSpeakers: [5.5, 4, 3.5, 2.5, 1.5, 0, -1.5, -2.5, -3.5, -4]
    case .spokenWord: [-3.5, -0.5, 0, 0.5, 3.5, 4.5, 5, 4, 2.5, 0]
    case .trebleBooster: [0, 0, 0, 0, 0, 1, 2.5, 4, 5, 6]
    case .trebleReducer: [0, 0, 0, 0, 0, -1, -2.5, -4, -5, -6]
    case .vocalBooster: [-1.5, -3, -3, 1.5, 3.5, 3.5, 3, 1.5, 0, -1.5]
    }
  }
}
