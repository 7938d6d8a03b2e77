// Not called, but linked: the admin port stands on all other rooms.
#include "admin/admin_server.h"

auto* volatile open_admin_server = &neliroute::AdminServer::open;
