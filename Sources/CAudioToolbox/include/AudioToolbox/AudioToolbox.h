// Umbrella header of Audio Toolbox: audio queues, sound files, formats, converters, devices and
// audio units.
#ifndef CUEJACK_AUDIOTOOLBOX_H
#define CUEJACK_AUDIOTOOLBOX_H
#include "../AudioUnit/AudioUnit.h"
#include "../CarbonCore/Endian.h"
#include "../CarbonCore/MacErrors.h"
#include "../CoreAudio/CoreAudio.h"
#include "AUGraph.h"
#include "AudioCodec.h"
#include "AudioConverter.h"
#include "AudioFile.h"
#include "AudioFileStream.h"
#include "AudioFormat.h"
#include "AudioHardwareService.h"
#include "AudioQueue.h"
#include "AudioServices.h"
#include "AudioUnitUtilities.h"
#include "AudioWorkInterval.h"
#include "CAFFile.h"
#include "ExtendedAudioFile.h"
#include "MusicPlayer.h"

#include <stdio.h>

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// Prints a graph, with its nodes, connections and states, or an audio unit, with its buses and
/// formats, to the standard output. Of anything else it prints that it is neither.
///
/// Any thread that is not real time. The text is for people, and may change.
extern void CAShow(void *_Nullable inObject);

/// Prints the same to a file.
extern void CAShowFile(void *_Nullable inObject, FILE *inFile);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
