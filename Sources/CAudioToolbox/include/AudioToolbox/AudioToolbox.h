// Audio Toolbox's umbrella: audio queues and sound files.
#ifndef CUEJACK_AUDIOTOOLBOX_H
#define CUEJACK_AUDIOTOOLBOX_H
#include "../CoreAudioTypes/CoreAudioTypes.h"
#include "AudioFile.h"
#include "AudioFormat.h"
#include "AudioQueue.h"
#endif
