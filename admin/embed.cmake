# cmake -D FOLDER= -D "FILES=a;b;.." -D OUTPUT= -P: writes the C++ file that embedded.h declares.
set(rows "")
foreach(name IN LISTS FILES)
  file(READ ${FOLDER}/${name} text)
  file(SHA256 ${FOLDER}/${name} hash)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${name} holds )embedded\", which would end its C++ literal")
  endif()
  string(APPEND rows "    {\"${name}\", \"${hash}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by admin/embed.cmake.
#include \"admin/embedded.h\"

namespace neliroute::admin {

std::span<const EmbeddedFile> embedded_files() noexcept {
  static constexpr EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace neliroute::admin
")
