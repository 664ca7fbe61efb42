#include "objectid.h"
