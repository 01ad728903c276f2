/* Curves of logs: which figures are found, what is refused. */
#include <stdlib.h>

#include "base/file.h"
#include "browser.h"
#include "shell.h"

static void write_text(const char *name, const char *text)
{
    test_write(test_path(name), text, strlen(text));
}

/* The data inside the page. */
static json_t *page_data(const char *name)
{
    hrc_error err;
    file_view view;
    ENSURE_OK(file_map(test_path(name), &view, &err));
    char *text = calloc(view.size + 1, 1);
    memcpy(text, view.data, view.size);
    file_unmap(&view);
    char *begin = strstr(text, "id=\"data\">"), *end = begin ? strstr(begin, "</script>") : NULL;
    ENSURE(begin && end && !strstr(text, "@plot.js@"));
    *end = 0;
    json_t *data = json_loads(begin + strlen("id=\"data\">"), 0, NULL);
    free(text);
    ENSURE(data);
    return data;
}

static void test_figures(void)
{
    write_text("a.jsonl",
               "{\"step\": 1, \"loss\": 2.5, \"name\": \"</script>\"}\n"
               "{\"step\": 2, \"loss\": null, \"trials\": {\"success\": 0.5, \"by\": {\"<b>\": 3}}}\n"
               "\n{\"step\": 3, \"loss\": 1.5}\n{\"step\": 4, \"lo"); /* cut off while writing */
    json_t *report = shell_json("cd $T && $HERACLES plot a.jsonl -o a.html --json");
    ENSURE(json_integer_value(json_object_get(report, "lines")) == 3);
    ENSURE(json_integer_value(json_object_get(report, "figures")) == 4);
    json_decref(report);
    json_t *data = page_data("a.html"), *log = json_array_get(json_object_get(data, "logs"), 0);
    json_t *columns = json_object_get(log, "columns"), *loss = json_object_get(columns, "loss");
    ENSURE(json_array_size(loss) == 3 && json_is_null(json_array_get(loss, 1)));
    ENSURE(json_number_value(json_array_get(loss, 2)) == 1.5);
    json_t *success = json_object_get(columns, "trials.success");
    ENSURE(json_array_size(success) == 2 && json_number_value(json_array_get(success, 1)) == 0.5);
    ENSURE(json_object_get(columns, "trials.by.<b>"));
    json_decref(data);
    ENSURE(shell("cd $T && $HERACLES plot a.jsonl a.jsonl -o two.html") == 0 && says("4 figures of 6 lines"));
}

/* What a training is judged by comes first, with units; what is constant is no chart; the rest is folded. */
static void test_page(void)
{
    char address[1200];
    ENSURE(shell("mkdir -p $T/one $T/two") == 0);
    for (int i = 0; i < 2; i++)
        write_text(
            i ? "two/t.safetensors.log.jsonl" : "one/t.safetensors.log.jsonl",
            "{\"wall_s\": 60, \"iteration\": 1, \"samples\": 10, \"worlds\": 8, \"world-model\": {\"loss\": 3}, "
            "\"trials\": {\"success\": 0.25, \"progress\": 0.5, \"joint_rad\": 0.9}}\n"
            "{\"wall_s\": 120, \"iteration\": 2, \"samples\": 20, \"worlds\": 8, \"world-model\": {\"loss\": 2}, "
            "\"trials\": {\"success\": 0.75, \"progress\": 0.8, \"joint_rad\": 0.4}}\n");
    ENSURE(
        shell(
            "cd $T && $HERACLES plot one/t.safetensors.log.jsonl two/t.safetensors.log.jsonl -o runs.html") ==
        0);
    snprintf(address, sizeof address, "file://%s", test_path("runs.html"));
    browser_open(address, 1000, 700);
    browser_wait("document.readyState === 'complete' && document.querySelector('figure')", 60);
    ENSURE(browser_true(
        "[...document.querySelectorAll('main > .grid figure b')].map(b => b.textContent).join('; ') === "
        "'trials that succeed (%); progress before the first failure (%); joint error (rad)'"));
    ENSURE(browser_true("document.querySelector('figure figcaption span').textContent === '75   75'"));
    ENSURE(browser_true("document.title === 'Training: one/t, two/t'"));
    ENSURE(browser_true(
        "[...document.querySelectorAll('details')].map(d => d.open + d.firstChild.textContent).join('; ') "
        "=== 'falseworld-model 1; falseNever changes 1'"));
    ENSURE(browser_true(
        "document.querySelector('td').textContent === 'worlds' && document.querySelectorAll('td')[1]"
        ".textContent === '8'"));
    ENSURE(browser_true(
        "document.getElementById('only').value = 'loss', refresh(), document.querySelector('details').open"));
    ENSURE(!*browser_complaints());
    browser_close();
}

static void test_refusals(void)
{
    write_text("bad.jsonl", "{\"step\": 1}\n[1, 2]\n");
    ENSURE(shell("cd $T && $HERACLES plot bad.jsonl -o bad.html") == 1 && says("bad.jsonl: line 2"));
    ENSURE(shell("ls $T/bad.html") != 0);
    write_text("empty.jsonl", "");
    ENSURE(shell("cd $T && $HERACLES plot empty.jsonl -o bad.html") == 1 && says("no lines"));
    ENSURE(shell("$HERACLES plot -o x.html") == 2 && shell("cd $T && $HERACLES plot bad.jsonl") == 2);
}

TEST_TABLE({"plot.figures", test_figures}, {"plot.page", test_page}, {"plot.refusals", test_refusals})
