#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "suite.h"

static void expect_bytes(const struct buffer *buffer, const char *text)
{
    ck_assert_uint_eq(buffer->len, strlen(text));
    ck_assert_mem_eq(buffer->data, text, strlen(text));
}

START_TEST(appends_in_order_over_many_growths)
{
    struct buffer buffer;
    buffer_init(&buffer, 0);
    for (uint32_t i = 0; i < 10000; i++) {
        buffer_append(&buffer, &i, sizeof i);
    }
    ck_assert(!buffer.failed);
    ck_assert_uint_eq(buffer.len, 10000 * sizeof(uint32_t));
    for (uint32_t i = 0; i < 10000; i++) {
        ck_assert_mem_eq(buffer.data + i * sizeof i, &i, sizeof i);
    }
    buffer_finish(&buffer);
}
END_TEST

START_TEST(empty_has_no_memory_but_reserves_nothing_all_the_same)
{
    struct buffer buffer;
    buffer_init(&buffer, 0);
    ck_assert_ptr_null(buffer.data);
    buffer_consume(&buffer, 3);
    ck_assert_ptr_nonnull(buffer_reserve(&buffer, 0));
    buffer_append(&buffer, NULL, 0);
    ck_assert_uint_eq(buffer.len, 0);
    ck_assert(!buffer.failed);
    buffer_finish(&buffer);
}
END_TEST

START_TEST(limit_is_reached_exactly_and_not_passed)
{
    struct buffer buffer;
    buffer_init(&buffer, 1000);
    char bytes[999];
    memset(bytes, 'x', sizeof bytes);
    buffer_append(&buffer, bytes, sizeof bytes);
    buffer_append(&buffer, "y", 1);
    ck_assert(!buffer.failed);
    ck_assert_uint_eq(buffer.len, 1000);
    ck_assert_uint_le(buffer.capacity, 1000);
    buffer_append(&buffer, "z", 1);
    ck_assert(buffer.failed);
    ck_assert_uint_eq(buffer.len, 1000);
    ck_assert_int_eq(buffer.data[999], 'y');
    buffer_finish(&buffer);
}
END_TEST

START_TEST(failed_keeps_what_it_had_and_takes_nothing_more)
{
    struct buffer buffer;
    buffer_init(&buffer, 8);
    buffer_append(&buffer, "abc", 3);
    buffer_append(&buffer, "123456", 6);
    ck_assert(buffer.failed);
    buffer_append(&buffer, "d", 1);
    ck_assert_ptr_null(buffer_reserve(&buffer, 1));
    expect_bytes(&buffer, "abc");
    buffer_finish(&buffer);
    ck_assert(!buffer.failed);
    ck_assert_ptr_null(buffer.data);
    ck_assert_uint_eq(buffer.max_bytes, 8);
}
END_TEST

START_TEST(sizes_past_the_address_space_fail)
{
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX - 2};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buffer buffer;
        buffer_init(&buffer, 0);
        buffer_append(&buffer, "abc", 3);
        ck_assert_ptr_null(buffer_reserve(&buffer, sizes[i]));
        ck_assert(buffer.failed);
        expect_bytes(&buffer, "abc");
        buffer_finish(&buffer);
    }
}
END_TEST

START_TEST(consume_drops_from_the_front)
{
    struct buffer buffer;
    buffer_init(&buffer, 0);
    buffer_append(&buffer, "abcdef", 6);
    buffer_consume(&buffer, 0);
    expect_bytes(&buffer, "abcdef");
    buffer_consume(&buffer, 2);
    expect_bytes(&buffer, "cdef");
    buffer_append(&buffer, "gh", 2);
    expect_bytes(&buffer, "cdefgh");
    buffer_consume(&buffer, 7);
    ck_assert_uint_eq(buffer.len, 0);
    buffer_finish(&buffer);
}
END_TEST

START_TEST(reserved_room_can_be_written)
{
    struct buffer buffer;
    buffer_init(&buffer, 0);
    buffer_append(&buffer, "ab", 2);
    char *room = buffer_reserve(&buffer, 5000);
    ck_assert_ptr_eq(room, buffer.data + 2);
    memset(room, 'c', 5000);
    buffer.len += 5000;
    ck_assert_int_eq(buffer.data[5001], 'c');
    ck_assert_int_eq(buffer.data[1], 'b');
    buffer_finish(&buffer);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("buffer");
    tcase_add_test(cases, appends_in_order_over_many_growths);
    tcase_add_test(cases, empty_has_no_memory_but_reserves_nothing_all_the_same);
    tcase_add_test(cases, limit_is_reached_exactly_and_not_passed);
    tcase_add_test(cases, failed_keeps_what_it_had_and_takes_nothing_more);
    tcase_add_test(cases, sizes_past_the_address_space_fail);
    tcase_add_test(cases, consume_drops_from_the_front);
    tcase_add_test(cases, reserved_room_can_be_written);
    Suite *suite = suite_create("buffer");
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
