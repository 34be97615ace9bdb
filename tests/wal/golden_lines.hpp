// One line of every type of record, as it is on the disk. The checksums come from another program. A line here
// never changes: logs that hold such lines exist.
#pragma once

#include <cstdint>
#include <string_view>

#include "tiffany/wal/record.hpp"

namespace tiffany::wal::test {

struct Golden {
  RecordType type;
  std::string_view task;
  std::string_view payload;
  std::uint64_t seq;
  std::uint64_t tid;
  std::string_view file;
  std::uint32_t source_line;
  std::uint64_t cause;
  std::string_view line;
};

inline constexpr std::string_view kTs = "2026-11-16T07:48:00.123456Z";
inline constexpr std::string_view kId = "6f1c0a52-4a3e-4b1c-9d1f-0123456789ab";
inline constexpr std::string_view kNil = "00000000-0000-0000-0000-000000000000";

// clang-format off
inline constexpr Golden kGolden[] = {
    {RecordType::StepStart, kId, R"("step":"read#1","class":"idempotent","hash":"5f")", 3, 12, "order.cpp", 31, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepStart","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"read#1","class":"idempotent","hash":"5f","seq":3,"tid":12,"vt":1200345,"loc":"order.cpp:31","crc":"6da60955"})"},
    {RecordType::ShutdownMarker, kNil, R"("reason":"closed")", 9, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"ShutdownMarker","task_id":"00000000-0000-0000-0000-000000000000","reason":"closed","seq":9,"tid":0,"vt":1200345,"crc":"a67493f4"})"},
    {RecordType::Spawn, kId, R"("name":"order","version":1,"args":[7,"Ann"])", 1, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Spawn","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","name":"order","version":1,"args":[7,"Ann"],"seq":1,"tid":0,"vt":1200345,"crc":"4a7d209f"})"},
    {RecordType::TaskYielded, kId, R"()", 2, 12, "order.cpp", 40, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskYielded","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","seq":2,"tid":12,"vt":1200345,"loc":"order.cpp:40","crc":"313473dc"})"},
    {RecordType::TaskWaitIO, kId, R"("on":"socket")", 3, 12, "order.cpp", 41, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskWaitIO","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","on":"socket","seq":3,"tid":12,"vt":1200345,"loc":"order.cpp:41","crc":"30e28ccb"})"},
    {RecordType::Resumed, kId, R"("of":"timer#1","value":null)", 4, 12, "", 0, 3,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Resumed","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","of":"timer#1","value":null,"seq":4,"tid":12,"vt":1200345,"cause":3,"crc":"834db017"})"},
    {RecordType::StepEnd, kId, R"("step":"charge#1","result":7)", 5, 12, "order.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepEnd","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"charge#1","result":7,"seq":5,"tid":12,"vt":1200345,"loc":"order.cpp:31","cause":4,"crc":"6b73fad7"})"},
    {RecordType::StepEnd, kId, R"("step":"charge#1","result":{"$encoded":"k2","data":"AAEC/w=="})", 5, 12, "order.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepEnd","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"charge#1","result":{"$encoded":"k2","data":"AAEC/w=="},"seq":5,"tid":12,"vt":1200345,"loc":"order.cpp:31","cause":4,"crc":"1b695e8d"})"},
    {RecordType::Approval, kId, R"("of":"approval#1","value":true)", 6, 0, "", 0, 2,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Approval","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","of":"approval#1","value":true,"seq":6,"tid":0,"vt":1200345,"cause":2,"crc":"74d6f9e3"})"},
    {RecordType::Command, kId, R"("op":"timer","id":"timer#1","until":"2026-11-17T07:48:00.123456Z","hash":"86400000000000")", 7, 12, "order.cpp", 50, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"timer","id":"timer#1","until":"2026-11-17T07:48:00.123456Z","hash":"86400000000000","seq":7,"tid":12,"vt":1200345,"loc":"order.cpp:50","crc":"ddc5f082"})"},
    {RecordType::TaskExit, kId, R"("result":{"paid":true})", 8, 12, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskExit","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","result":{"paid":true},"seq":8,"tid":12,"vt":1200345,"crc":"6c1a82b8"})"},
    {RecordType::TaskAbort, kId, R"("reason":"failed","error":"The card was refused.")", 8, 12, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskAbort","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","reason":"failed","error":"The card was refused.","seq":8,"tid":12,"vt":1200345,"crc":"ac88af85"})"},
    {RecordType::Owner, kNil, R"("epoch":3,"pid":4711,"segment":5,"after":16776960)", 1, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Owner","task_id":"00000000-0000-0000-0000-000000000000","epoch":3,"pid":4711,"segment":5,"after":16776960,"seq":1,"tid":0,"vt":1200345,"crc":"be013733"})"},
    {RecordType::Checkpoint, kId, R"("state":{"n":100},"mailbox":[])", 9, 12, "order.cpp", 60, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Checkpoint","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","state":{"n":100},"mailbox":[],"seq":9,"tid":12,"vt":1200345,"loc":"order.cpp:60","crc":"ec03ec8e"})"},
    {RecordType::InstructionStart, kId, R"("step":"instruction#1","result":{"base":"4b825d"})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"InstructionStart","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"instruction#1","result":{"base":"4b825d"},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"d02a6d75"})"},
    {RecordType::LLMPlan, kId, R"("step":"think#1","result":{"text":"I look."})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"LLMPlan","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"think#1","result":{"text":"I look."},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"a7007140"})"},
    {RecordType::ToolResult, kId, R"("step":"read#1","result":{"text":"int x;"})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"ToolResult","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"read#1","result":{"text":"int x;"},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"adb5e609"})"},
    {RecordType::PatchPreview, kId, R"("step":"preview#1","result":{"tree":"4b825d"})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"PatchPreview","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"preview#1","result":{"tree":"4b825d"},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"4767c96e"})"},
    {RecordType::Commit, kId, R"("step":"commit#1","result":{"sha":"9f1c2d"})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Commit","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"commit#1","result":{"sha":"9f1c2d"},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"f7be3dec"})"},
    {RecordType::TaskComplete, kId, R"("step":"finish#1","result":{"turns":3})", 5, 12, "agent.cpp", 31, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskComplete","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"finish#1","result":{"turns":3},"seq":5,"tid":12,"vt":1200345,"loc":"agent.cpp:31","cause":4,"crc":"c2f854a3"})"},
    // Members that came later, in the order in which the library writes them (tests/durable/records_test.cpp).
    {RecordType::Spawn, kId, R"("name":"order","version":1,"rules":1,"args":[7],"parent":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","key":"Ada","priority":3,"until":"2026-11-17T07:48:00.123456Z","attributes":{"customer":"Ada","vip":true},"at_end":"abandon")", 1, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Spawn","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","name":"order","version":1,"rules":1,"args":[7],"parent":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","key":"Ada","priority":3,"until":"2026-11-17T07:48:00.123456Z","attributes":{"customer":"Ada","vip":true},"at_end":"abandon","seq":1,"tid":0,"vt":1200345,"crc":"40f1deea"})"},
    {RecordType::Command, kId, R"("op":"attribute","id":"attribute stage#1","attribute":"stage","to":"shipping","hash":"5f0c9a1be2d34476")", 7, 12, "order.cpp", 51, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"attribute","id":"attribute stage#1","attribute":"stage","to":"shipping","hash":"5f0c9a1be2d34476","seq":7,"tid":12,"vt":1200345,"loc":"order.cpp:51","crc":"1e90b207"})"},
    {RecordType::Command, kId, R"("op":"answer","id":"update 1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","result":12)", 8, 12, "order.cpp", 52, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"answer","id":"update 1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","result":12,"seq":8,"tid":12,"vt":1200345,"loc":"order.cpp:52","crc":"0a61fe56"})"},
    {RecordType::Command, kId, R"("op":"answer","id":"update 1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","error":"thirteen","thrown":"tiffany::Error","code":4)", 8, 12, "order.cpp", 52, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"answer","id":"update 1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","error":"thirteen","thrown":"tiffany::Error","code":4,"seq":8,"tid":12,"vt":1200345,"loc":"order.cpp:52","crc":"e65f692c"})"},
    {RecordType::Resumed, kId, R"("update":"add","id":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","value":{"item":"tea","count":2})", 7, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Resumed","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","update":"add","id":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","value":{"item":"tea","count":2},"seq":7,"tid":0,"vt":1200345,"crc":"c7c10653"})"},
    {RecordType::Checkpoint, kId, R"("state":{"n":100},"number":2,"mailbox":[["changed",7]],"cancelled":"enough","attributes":{"stage":"shipping"},"updates":[["1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","add",5]],"answers":[["1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","5f0c9a1be2d34476",0,12,"",0]])", 9, 12, "order.cpp", 60, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Checkpoint","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","state":{"n":100},"number":2,"mailbox":[["changed",7]],"cancelled":"enough","attributes":{"stage":"shipping"},"updates":[["1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","add",5]],"answers":[["1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","5f0c9a1be2d34476",0,12,"",0]],"seq":9,"tid":12,"vt":1200345,"loc":"order.cpp:60","crc":"846687c9"})"},
    {RecordType::StepEnd, kId, R"("step":"charge#1","hash":"5f","error":"The card was refused.","attempts":3,"thrown":"Declined")", 5, 12, "", 0, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepEnd","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"charge#1","hash":"5f","error":"The card was refused.","attempts":3,"thrown":"Declined","seq":5,"tid":12,"vt":1200345,"cause":4,"crc":"0bd96256"})"},
    {RecordType::StepEnd, kId, R"("step":"charge#1","error":"The bank is closed.","unknown":true,"thrown":"tiffany::Error","code":312)", 5, 12, "", 0, 4,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"StepEnd","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","step":"charge#1","error":"The bank is closed.","unknown":true,"thrown":"tiffany::Error","code":312,"seq":5,"tid":12,"vt":1200345,"cause":4,"crc":"a6af4aa2"})"},
    {RecordType::Resumed, kId, R"("of":"ship#1","error":"The parcel is lost.","thrown":"tiffany::Error","code":312)", 6, 0, "", 0, 2,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Resumed","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","of":"ship#1","error":"The parcel is lost.","thrown":"tiffany::Error","code":312,"seq":6,"tid":0,"vt":1200345,"cause":2,"crc":"767f6deb"})"},
    {RecordType::TaskAbort, kId, R"("reason":"failed","error":"The card was refused.","trace":"5f0c9a1be2d34476","thrown":"Declined","code":312)", 8, 12, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"TaskAbort","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","reason":"failed","error":"The card was refused.","trace":"5f0c9a1be2d34476","thrown":"Declined","code":312,"seq":8,"tid":12,"vt":1200345,"crc":"af3ec926"})"},
    {RecordType::Command, kId, R"("op":"promise","id":"approval#1","promise":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","shape":"boolean")", 9, 12, "order.cpp", 53, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"promise","id":"approval#1","promise":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","shape":"boolean","seq":9,"tid":12,"vt":1200345,"loc":"order.cpp:53","crc":"7b5350db"})"},
    {RecordType::Command, kId, R"("op":"spawn","id":"digest#1","child":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","shape":"object")", 9, 12, "order.cpp", 54, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"spawn","id":"digest#1","child":"1c9f0e52-4a3e-4b1c-9d1f-0123456789ab","hash":"5f0c9a1be2d34476","shape":"object","seq":9,"tid":12,"vt":1200345,"loc":"order.cpp:54","crc":"9d4dc1c6"})"},
    {RecordType::Command, kId, R"("op":"signal","id":"signal changed#1","shape":"number","hash":"within")", 9, 12, "order.cpp", 55, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"signal","id":"signal changed#1","shape":"number","hash":"within","seq":9,"tid":12,"vt":1200345,"loc":"order.cpp:55","crc":"12620fae"})"},
    {RecordType::Command, kId, R"("op":"pause","by":"token:ann","why":"the bank is down")", 7, 0, "", 0, 0,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"Command","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","op":"pause","by":"token:ann","why":"the bank is down","seq":7,"tid":0,"vt":1200345,"crc":"851fb779"})"},
};

// A type that a log may hold and this program does not know: read, kept as it is, and without a
// meaning.
inline constexpr Golden kGoldenUnknown[] = {
    {RecordType::unknown, kId, R"("plan":["read model.rs","write the check"])", 2, 0, "", 0, 1,
     R"({"v":1,"ts":"2026-11-16T07:48:00.123456Z","type":"OfALaterVersion","task_id":"6f1c0a52-4a3e-4b1c-9d1f-0123456789ab","plan":["read model.rs","write the check"],"seq":2,"tid":0,"vt":1200345,"cause":1,"crc":"262fcc2c"})"},
};
// clang-format on

}  // namespace tiffany::wal::test
