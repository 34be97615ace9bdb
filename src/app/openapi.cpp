// The OpenAPI 3.1 document, made of the table of routes and schemas.json.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "app/api.hpp"
#include "serve/comma_list.hpp"

namespace tiffany::app {
namespace {

void write_reference(JsonWriter& out, std::string_view schema) {
  out.begin_object();
  out.member("$ref", "#/components/schemas/" + std::string(schema));
  out.end_object();
}

void write_content(JsonWriter& out, std::string_view type, std::string_view schema) {
  out.key("content");
  out.begin_object();
  out.key(type);
  out.begin_object();
  out.key("schema");
  write_reference(out, schema);
  out.end_object();
  out.end_object();
}

void write_parameter(JsonWriter& out, std::string_view name, std::string_view in) {
  out.begin_object();
  out.member("name", name);
  out.member("in", in);
  if (in == "path") out.member("required", true);
  out.key("schema");
  out.begin_object();
  out.member("type", "string");
  out.end_object();
  out.end_object();
}

void write_parameters(JsonWriter& out, const Route& route) {
  out.key("parameters");
  out.begin_array();
  std::string_view path = route.path;
  for (std::size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{')) {
    const std::size_t close = path.find('}', open);
    write_parameter(out, path.substr(open + 1, close - open - 1), "path");
    path.remove_prefix(close);
  }
  for_each_listed(route.query, [&](std::string_view name) { write_parameter(out, name, "query"); });
  out.end_array();
}

// The name of a function in a client: "post tasks by task cancel" as "postTasksTaskCancel".
std::string operation_of(const Route& route) {
  std::string name;
  for (const char c : route.method) name += static_cast<char>(c - 'A' + 'a');
  bool begins = true;
  for (const char c : route.path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) name += begins ? static_cast<char>(c - 'a' + 'A') : c;
    begins = !letter;
  }
  return name;
}

// 201: it made something. 202: what was asked for comes later.
std::string_view status_of_success(const Route& route) {
  constexpr std::array<std::string_view, 7> kMakes{
      "/tasks",     "/tasks/{task}/fork", "/schedules",
      "/plans/run", "/plans/{name}/run",  "/plans/{name}/schedule",
      "/tokens"};
  if (route.method == "POST" && std::ranges::find(kMakes, route.path) != kMakes.end()) return "201";
  return route.path == "/shutdown" ? "202" : "200";
}

void write_operation(JsonWriter& out, const Route& route) {
  out.begin_object();
  out.member("operationId", operation_of(route));
  out.member("summary", route.summary);
  out.member("x-role", name_of(route.role));
  write_parameters(out, route);
  if (!route.body.empty()) {
    out.key("requestBody");
    out.begin_object();
    write_content(out, "application/json", route.body);
    out.end_object();
  }
  out.key("responses");
  out.begin_object();
  out.key(status_of_success(route));
  out.begin_object();
  out.member("description", "done");
  if (!route.answer.empty()) write_content(out, "application/json", route.answer);
  out.end_object();
  out.key("default");
  out.begin_object();
  out.member("description", "refused");
  write_content(out, "application/problem+json", "Problem");
  out.end_object();
  out.end_object();
  out.end_object();
}

}  // namespace

std::string openapi_document(const App& app) {
  std::map<std::string, std::vector<const Route*>> paths;
  for (const Route& route : routes()) {
    paths[std::string(kApi) + std::string(route.path)].push_back(&route);
  }
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.member("openapi", "3.1.0");
    out.key("info");
    out.begin_object();
    out.member("title", app.name());
    out.member("version", app.version());
    out.end_object();
    out.key("security");
    out.raw_value(R"([{"token":[]}])");
    out.key("paths");
    out.begin_object();
    for (const auto& [path, all] : paths) {
      out.line_break();
      out.key(path);
      out.begin_object();
      for (const Route* route : all) {
        std::string method;
        for (const char c : route->method) method += static_cast<char>(c - 'A' + 'a');
        out.key(method);
        write_operation(out, *route);
      }
      out.end_object();
    }
    out.end_object();
    out.key("components");
    out.begin_object();
    out.key("securitySchemes");
    out.raw_value(R"({"token":{"type":"http","scheme":"bearer"}})");
    out.key("schemas");
    out.raw_value(embedded_schemas());
    out.end_object();
    out.end_object();
  });
}

}  // namespace tiffany::app
